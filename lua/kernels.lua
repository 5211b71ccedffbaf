-- kernels.lua: what can run: the configs that tiling specs allow for a group
-- of keys, their names, texts and hashes.
--
-- kernels.candidates(model, entry, tier) -> {kernel, ...} in config order, or
--   {} after an error; entry: see lattice.lua. A kernel is the family's k
--   record (op, variant, tier, dtypes, keyed, baked, layout, config, symbol,
--   key_class, tiling, spec) and group=, config_text=.
-- kernels.text(kernel) -> its C text; kernels.recipe(kernel) -> compiled
-- kernels.hash(kernel) -> hex: see the words on binding in hash_of.

local c = require "family.c"
local compile = require "compile"
local depend = require "depend"
local diag = require "diag"
local enum = require "enum"

local M = {}

local SYMBOL_MAX = 63

local function tiling_variant(model, op, variant, tier)
    local tiling = model.tilings[op.family]
    for _, t in ipairs(tiling and tiling.tiers or {}) do
        if t.name == tier then
            for _, v in ipairs(t.variants) do
                if v.name == variant then
                    return tiling, v
                end
            end
        end
    end
end

-- Every combination of the config's lists, fields in their order.
local function products(config)
    local out = {{}}
    for _, field in ipairs(config) do
        local grown = {}
        for _, chosen in ipairs(out) do
            for _, value in ipairs(field.values) do
                local copy = {table.unpack(chosen)}
                copy[#copy + 1] = {name = field.name, value = value}
                grown[#grown + 1] = copy
            end
        end
        out = grown
    end
    return out
end

local function required(variant, config)
    if not variant.require then
        return true
    end
    local constants = {}
    for _, field in ipairs(config) do
        constants[field.name] = field.value
    end
    local value, why = compile.constants(variant.require.text, constants)
    if value == nil then
        diag.in_expr(variant.require.node, why.at, "%s", why.text)
    elseif type(value) ~= "boolean" then
        diag.at(variant.require.node, "require expects true or false, such as "
            .. "lanes >= 8, not a number")
    end
    return value
end

local function config_text(config)
    local out = {}
    for i, field in ipairs(config) do
        out[i] = ("%s=%d"):format(field.name, field.value)
    end
    return table.concat(out, " ")
end

local function baked_value(attr, number)
    if attr.type == "bool" then
        return number ~= 0
    elseif attr.type == "string" then
        return attr.choices[number + 1]
    end
    return number
end

-- A baked attribute's value as part of a C name: tanh, log1, shift_2 for -2.
local function baked_word(attr, number)
    local value = baked_value(attr, number)
    if type(value) == "string" then
        return (value:lower():gsub("[^a-z0-9]", "_"))
    end
    return (("%s%d"):format(attr.name, number):gsub("-", "_"))
end

-- op, variant, dtypes, baked attributes, layout, config: in that order.
local function symbol_of(op, entry, keyed, config)
    local parts = {op.name, entry.variant, keyed}
    for i, attr in ipairs(op.attrs) do
        if attr.baked then
            parts[#parts + 1] = baked_word(attr, entry.baked[i])
        end
    end
    parts[#parts + 1] = entry.layout
    for _, field in ipairs(config) do
        parts[#parts + 1] = ("%s%d"):format(field.name, field.value)
    end
    return table.concat(parts, "_")
end

local function build(model, entry, tier, tiling, config)
    local op = model.op[entry.op]
    local k = {
        op = op, variant = entry.variant, tier = tier, layout = entry.layout,
        config = config, config_text = config_text(config),
        keyed = entry.keyed, dtypes = {}, baked = {},
        group = entry.group, key_class = entry.group, spec = op.spec,
        tiling = tiling.spec, model = model,
    }
    for i, tensor in ipairs(op.tensors) do
        k.dtypes[tensor.name] = entry.dtypes[i]
    end
    for i, attr in ipairs(op.attrs) do
        if attr.baked then
            k.baked[attr.name] = baked_value(attr, entry.baked[i])
        end
    end
    k.symbol = symbol_of(op, entry, k.keyed, config)
    k.file = ("%s/%s_%s.c"):format(op.name, k.variant, k.keyed)
    return k
end

function M.candidates(model, entry, tier)
    local op = model.op[entry.op]
    local tiling, variant = tiling_variant(model, op, entry.variant, tier)
    if not tiling then
        diag.at(model.tilings[op.family].node, "no configs for variant %s on "
            .. "tier %s, which op %s needs: tiers: {%s: {%s: {config: ...}}}",
            entry.variant, tier, op.name, tier, entry.variant)
        return {}
    end
    local out = {}
    for _, config in ipairs(products(variant.config)) do
        if required(variant, config) then
            local k = build(model, entry, tier, tiling, config)
            if #k.symbol > SYMBOL_MAX then
                diag.at(op.node, "op %s: kernel name %s is over %d "
                    .. "characters", op.name, k.symbol, SYMBOL_MAX)
            end
            out[#out + 1] = k
        end
    end
    if #out == 0 then
        diag.at(variant.require.node, "require refuses every config of "
            .. "variant %s", entry.variant)
    end
    return out
end

local function family(k)
    return k.model.families[k.op.family]
end

function M.text(k)
    if not k.text then
        k.text = family(k).text(k)
    end
    return k.text
end

function M.prelude(k)
    return family(k).prelude(k)
end

-- What a recipe's expressions may name: those of slots, the op's attributes
-- first; those of units and grain, rows, cols, the op's lets and the config.
local function recipe_scopes(k)
    local config, n = {}, #k.op.lets
    for i, field in ipairs(k.config) do
        config[field.name] = i - 1
    end
    local slots = compile.with(k.model.scope[k.op.name], "config", config)
    local units = compile.with(slots, "lets", {rows = n, cols = n + 1})
    units.attrs, units.tensors = {}, {}
    return slots, units
end

-- The launch recipe as the core's struct; see tables.h.
function M.recipe(k)
    local raw = family(k).recipe(k)
    local kinds = enum.read("runtime/core/tables.h", "KILN_SLOT_")
    local scope, of_units = recipe_scopes(k)
    local slots = {}
    for i, slot in ipairs(raw.slots) do
        slots[i] = {
            kind = assert(kinds[slot.kind], slot.kind),
            tensor = slot.tensor or 0,
            expr = slot.expr and compile.text(slot.expr, scope)
                or compile.absent(),
        }
    end
    return {
        slots = slots, units = compile.text(raw.units, of_units),
        grain = compile.text(raw.grain, of_units),
    }
end

local function recipe_text(k)
    local raw = family(k).recipe(k)
    local out = {raw.units, raw.grain}
    for _, slot in ipairs(raw.slots) do
        out[#out + 1] = ("%s %d %s"):format(slot.kind, slot.tensor or 0,
            slot.expr or "")
    end
    return table.concat(out, "\n")
end

local function limits_text(k)
    local out = {}
    for _, limit in ipairs(k.op.limits or {}) do
        out[#out + 1] = ("%s ulp=%s abs=%s l2=%s"):format(limit.dtype,
            tostring(limit.ulp), tostring(limit.abs), tostring(limit.l2))
    end
    return table.concat(out, "\n")
end

-- What a certificate is bound to: the tokens of the kernel, of its argument
-- struct and of every device function it reaches, its launch recipe, its
-- limits.
function M.hash(k)
    if not k.hash then
        local args = c.args(k, family(k).recipe(k).slots)
        local tokens = host.tokens(args .. "\n" .. M.text(k))
        k.hash = host.sha256(table.concat({
            tokens, depend.closure(tokens), recipe_text(k), limits_text(k),
        }, "\0"))
    end
    return k.hash
end

-- "ulp=4;abs=1e-07;l2=" of the kernel's outputs' dtype.
function M.limits(k)
    local out
    for _, tensor in ipairs(k.op.tensors) do
        for _, limit in ipairs(k.op.limits or {}) do
            if tensor.role ~= "in"
                and limit.dtype == k.dtypes[tensor.name] then
                out = limit
            end
        end
    end
    if not out then
        diag.at(k.op.at.limits or k.op.node, "op %s: no limits for the "
            .. "output of %s", k.op.name, k.group)
        return ""
    end
    local function number(v)
        return v and host.float(v + 0.0) or ""
    end
    return ("ulp=%s;abs=%s;l2=%s"):format(number(out.ulp), number(out.abs),
        number(out.l2))
end

return M
