-- out/keys.lua: the look-up tables of one op on one tier: ladder positions,
-- launch recipes, kernels, groups and their runs.
--
-- run(target, op_name, kernels, groups) -> C text; target: see project.lua
--   kernels: the op's, each with .error[isa]; groups[isa] = list of
--   {entry=, runs={{entry=, last=, kernel= or nil, device=, stale=}},
--    configs={kernels}}; see cells.lua, which makes both.

local ctext = require "ctext"
local enum = require "enum"
local kernels_of = require "kernels"

local M = {}

local CENSUS = enum.read("runtime/core/tables.h", "KILN_CENSUS_").BIT.v
local STATE = enum.read("runtime/core/tables.h", "KILN_CELL_")

local function position_name(ladder, position)
    ladder.c_names = ladder.c_names or {}
    local name = ladder.c_names[position]
    if not name and position >= CENSUS then
        name = ("%s_AT_%d"):format(ladder.name:upper(),
            ladder.census[position - CENSUS + 1])
    elseif not name then
        name = ("%s_%d"):format(ladder.name:upper(),
            ladder.edges[position + 1])
    end
    ladder.c_names[position] = name
    return name
end

local function enum_lines(out, comment, names)
    if #names == 0 then
        return
    end
    out[#out + 1] = "/* " .. comment .. " */"
    out[#out + 1] = "enum {"
    for _, name in ipairs(names) do
        out[#out + 1] = "    " .. name .. ","
    end
    out[#out + 1] = "};"
    out[#out + 1] = ""
end

local function ladder_enums(out, axes)
    local seen = {}
    for _, axis in ipairs(axes) do
        local ladder = axis.ladder
        if not seen[ladder.name] then
            seen[ladder.name] = true
            local edges, exact = {}, {}
            for i = 1, #ladder.edges do
                edges[i] = position_name(ladder, i - 1)
            end
            for i = 1, #ladder.census do
                exact[i] = position_name(ladder, CENSUS + i - 1)
            end
            if exact[1] then
                exact[1] = exact[1] .. " = KILN_CENSUS_BIT"
            end
            enum_lines(out, "Buckets of ladder " .. ladder.name
                .. ", by upper edge.", edges)
            enum_lines(out, "Census cells of ladder " .. ladder.name .. ".",
                exact)
        end
    end
end

-- Kernel enumerators lose the op's name: they are this file's own.
local function kernel_name(k)
    return k.symbol:sub(#k.op.name + 2):upper()
end

local function recipe_id(recipes, out, k)
    local recipe = kernels_of.recipe(k)
    local lines = {}
    local name = ("%s_%s_%s"):format(k.op.name, k.variant, k.layout)
    ctext.object(lines, "kiln_recipe", name, recipe)
    local text = table.concat(lines, "\n")
    while recipes[name] and recipes[name] ~= text do
        name = name .. "_" .. k.keyed
        lines = {}
        ctext.object(lines, "kiln_recipe", name, recipe)
        text = table.concat(lines, "\n")
    end
    if not recipes[name] then
        recipes[name] = text
        table.move(lines, 1, #lines, #out + 1, out)
    end
    return name
end

-- Where the runtime finds a kernel: a function of C, or a name in a module.
local function add_code(row, out, k, isa)
    if k.tier == "cpu" then
        local name = ("%s_%s"):format(k.symbol, isa)
        out[#out + 1] = ("kiln_cpu_kernel %s;"):format(name)
        row.cpu = {ref = name, call = true}
    else
        row.module = {ref = M.module_name(k)}
    end
end

local function kernel_rows(out, kernels, isa, recipe_of)
    local rows = {}
    for i, k in ipairs(kernels) do
        local values = {}
        for j, field in ipairs(k.config) do
            values[j] = field.value
        end
        rows[i] = {
            name = k.symbol, symbol = k.symbol, config = k.config_text,
            values = values, recipe = {ref = recipe_of[k.symbol]},
            error = k.error and k.error[isa] or 0.0,
        }
        add_code(rows[i], out, k, isa)
    end
    out[#out + 1] = ""
    return rows
end

local function run_row(axes, run, index_of)
    local names = {}
    for i, axis in ipairs(axes) do
        names[i] = position_name(axis.ladder, run.entry.positions[i])
    end
    return {
        first = {c = "KILN_CELL" .. #axes .. "("
            .. table.concat(names, ", ") .. ")"},
        last = run.last
            and {c = position_name(axes[1].ladder, run.last), v = run.last}
            or 0,
        kernel = run.kernel and index_of[run.kernel.symbol] or 0,
        state = run.stale and STATE.STALE or run.forced and STATE.FORCED or 0,
        device = run.device or 0,
    }
end

-- Part of a C name for a group of the op, each once: seen has those before.
local function group_name(text, seen)
    local name = text:gsub("^[%w_]+/", ""):gsub("=%-", "=m")
        :gsub("[^%w]+", "_")
    seen[name] = (seen[name] or 0) + 1
    return seen[name] == 1 and name or name .. "__" .. seen[name]
end

local function group_rows(axes, list, index_of)
    local rows, seen = {}, {}
    for i, group in ipairs(list) do
        local runs, configs = {}, {}
        for j, run in ipairs(group.runs) do
            runs[j] = run_row(axes, run, index_of)
        end
        for j, k in ipairs(group.configs) do
            configs[j] = index_of[k.symbol]
        end
        rows[i] = {
            name = group_name(group.entry.group, seen),
            text = group.entry.group, packed = group.entry.packed,
            runs = runs, configs = configs,
        }
    end
    return rows
end

-- The parts of a tier's name in C: sm90, or cpu_avx2.
function M.tier_name(tier, isa)
    return isa == "-" and tier or tier .. "_" .. isa
end

-- The object kiln_keys_TIER_OP; row names only shape C names.
function M.object_name(tier, isa, op)
    return ("kiln_keys_%s_%s"):format(M.tier_name(tier, isa), op)
end

-- The object that holds the compiled kernels of k's variant for its CUDA tier.
function M.module_name(k)
    return ("kiln_module_%s_%s_%s"):format(k.tier, k.op.name, k.variant)
end

function M.run(p, op, kernels, groups)
    local axes = p.model.axes[op]
    local out = {
        ("/* Generated by kiln from %s and spec/certified/%s: the certified "
            .. "keys of %s. */"):format(p.model.op[op].spec, p.tier, op),
        '#include "../tables.h"', "",
    }
    local index_of, names, recipes, recipe_of = {}, {}, {}, {}
    ladder_enums(out, axes)
    for i, k in ipairs(kernels) do
        names[i] = kernel_name(k)
        index_of[k.symbol] = {c = names[i], v = i - 1}
    end
    enum_lines(out, "Kernels.", names)
    for _, k in ipairs(kernels) do
        recipe_of[k.symbol] = recipe_id(recipes, out, k)
    end
    for _, isa in ipairs(p.isas) do
        local rows = kernel_rows(out, kernels, isa, recipe_of)
        ctext.object(out, "kiln_op_keys", M.object_name(p.tier, isa, op), {
            op = op, kernels = rows,
            groups = group_rows(axes, groups[isa], index_of),
        }, {extern = true})
    end
    out[#out] = nil
    return table.concat(out, "\n") .. "\n"
end

return M
