-- model.lua: checked specs become the core's tables.
--
-- model.build(specs) -> model or nil when errors went to the sink. Adds to
-- the specs:
--   arch_list, arch_fields  = profiles and their field names, sorted
--   tables = a Lua kiln_tables without ladders' census cells and tiers
--   families[name], scope[op name] = names its expressions may use
--   axes[op name] = {{name=, ladder=<spec ladder>, index=its place}, ...}

local bounds = require "bounds"
local compile = require "compile"
local diag = require "diag"
local edit = require "edit"
local enum = require "enum"
local steps = require "model_steps"

local M = {}

local TABLES = "runtime/core/tables.h"

local function flag(value)
    return value and 1 or 0
end

local function dtype(name)
    return enum.read("runtime/core/dtype.h", "KILN_")[name:upper()]
end

-- The mask of names' bits, spelt for C.
local function mask(names, bit_of)
    local texts, value = {}, 0
    for i, name in ipairs(names) do
        local bit = bit_of(name)
        texts[i] = "1u << " .. bit.c
        value = value | 1 << bit.v
    end
    return #names == 0 and 0 or {c = table.concat(texts, " | "), v = value}
end

local function tensor_bit(op)
    return function(name)
        for i, tensor in ipairs(op.tensors) do
            if tensor.name == name then
                return {c = tostring(i - 1), v = i - 1}
            end
        end
    end
end

local function exprs(list, scope)
    local out = {}
    for i, x in ipairs(list or {}) do
        out[i] = compile.expr(x, scope)
    end
    return out
end

local function set_shape(out, tensor, op, scope)
    local rules = enum.read(TABLES, "KILN_SHAPE_")
    local shape = tensor.shape
    out.shape_rule, out.shape_like, out.shape = rules.FREE, 0, {}
    if shape == "broadcast" then
        out.shape_rule = rules.BROADCAST
    elseif shape and shape.tensor then
        out.shape_rule = rules.LIKE
        out.shape_like = tensor_bit(op)(shape.tensor).v
    elseif shape then
        out.shape_rule = rules.EXPRS
        out.shape = exprs(shape.exprs, scope)
    end
end

local function build_tensors(op, scope)
    local roles = enum.read(TABLES, "KILN_")
    local out = {}
    for i, tensor in ipairs(op.tensors) do
        out[i] = {
            name = tensor.name, role = roles[tensor.role:upper()],
            optional = flag(tensor.optional), keyed = flag(tensor.keyed),
            dtypes = mask(tensor.dtypes, dtype),
            like = mask(tensor.like, tensor_bit(op)),
            promote = mask(tensor.promote or {}, tensor_bit(op)),
        }
        set_shape(out[i], tensor, op, scope)
    end
    return out
end

local function choice_index(attr)
    for i, choice in ipairs(attr.choices or {}) do
        if choice == attr.default then
            return i - 1
        end
    end
end

local function build_attrs(op)
    local types = enum.read(TABLES, "KILN_TYPE_")
    local out = {}
    for i, attr in ipairs(op.attrs) do
        local default = attr.default
        if type(default) == "boolean" then
            default = flag(default)
        end
        out[i] = {
            name = attr.name, type = types[attr.type:upper()],
            baked = flag(attr.baked), required = flag(attr.required),
            i = 0, f = 0.0, choices = attr.choices or {},
        }
        if attr.type == "string" then
            out[i].i = choice_index(attr) or 0
        elseif attr.type == "float" then
            out[i].f = (default or 0) + 0.0
        else
            out[i].i = default or 0
        end
    end
    return out
end

-- Each let sees those before it; scope gains them all.
local function build_lets(op, scope)
    local out = {}
    for i, let in ipairs(op.lets) do
        out[i] = {name = let.name, expr = compile.expr(let, scope)}
        scope.lets[let.name] = i - 1
    end
    return out
end

-- An axis is written bucket(ladder, expression).
local function build_axes(model, op, scope)
    local out, axes = {}, {}
    for i, axis in ipairs(op.key) do
        local ladder, size =
            axis.text:match("^%s*bucket%s*%(%s*([%w_]+)%s*,(.*)%)%s*$")
        local index = ladder and scope.ladders[ladder]
        if not index then
            local near = ladder and edit.near(ladder, model.ladder_names)
            diag.at(axis.node, "key %s: expected bucket(ladder, size)%s; "
                .. "ladders: %s", axis.axis,
                near and (", did you mean %s?"):format(near) or "",
                table.concat(model.ladder_names, ", "))
            index, size = 0, "1"
        end
        out[i] = {
            name = axis.axis, ladder = index,
            expr = compile.expr({text = size:match("^%s*(.-)%s*$"),
                node = axis.node}, scope),
        }
        axes[i] = {name = axis.axis, ladder = model.ladders[index + 1],
                   index = index + 1}
    end
    model.axes[op.name] = axes
    return out
end

local function find_family(model, op)
    if op.family == nil or op.family == "composite" then
        return nil
    end
    if not host.embedded("family/" .. op.family .. "/init.lua") then
        diag.at(op.node, "op %s: no family %s", op.name, op.family)
        return nil
    end
    local family = require("family." .. op.family .. ".init")
    model.families[op.family] = family
    if family.expand and not op.expanded then
        family.expand(op)
        op.expanded = true
    end
    return family
end

local function build_op(model, op)
    local family = find_family(model, op)
    local spaces = enum.read(TABLES, "KILN_SPACE_")
    local scope = compile.scope(model, op)
    local space = family and family.space or "none"
    local out = {name = op.name, spec = op.spec}
    bounds.check(op)
    model.scope[op.name] = scope
    out.attrs = build_attrs(op)
    out.lets = build_lets(op, scope)
    out.tensors = build_tensors(op, scope)
    out.routes = steps.routes(model, op, family, scope)
    out.space = spaces[space:upper()]
    out.row_dim = family and family.row_dim
        and compile.text(family.row_dim, scope) or compile.absent()
    out.in_place = flag(family and family.in_place)
    out.axes = build_axes(model, op, scope)
    out.flops = compile.expr(op.flops, scope)
    return out
end

-- Names of all profiles' fields, and the profiles with a value for each.
local function build_archs(model)
    local fields, seen, list = {}, {}, {}
    for name, arch in pairs(model.archs) do
        list[#list + 1] = arch
        arch.name = name
        for _, field in ipairs(arch.fields) do
            if not seen[field.name] then
                seen[field.name] = true
                fields[#fields + 1] = field.name
            end
        end
    end
    table.sort(fields)
    model.arch_fields, model.arch_list = fields, list
    local out, classes = {}, enum.read(TABLES, "KILN_CLASS_")
    for i, arch in ipairs(list) do
        local values = {}
        for j, name in ipairs(fields) do
            values[j] = arch.field[name] or 0
        end
        out[i] = {
            name = arch.name, tier = arch.tier, fields = values,
            classes = arch.tier == "cpu" and 0 or classes.ALIGN.v,
            chip = arch.chip or "", capability = arch.capability or 0,
        }
    end
    return out
end

function M.build(model)
    local before = host.errors()
    local ladders, ops = {}, {}
    model.families, model.scope, model.axes = {}, {}, {}
    model.ladder_names = {}
    local archs = build_archs(model)
    for i, ladder in ipairs(model.ladders) do
        model.ladder_names[i] = ladder.name
        ladders[i] = {name = ladder.name, edges = ladder.edges, census = {}}
    end
    for i, op in ipairs(model.ops) do
        ops[i] = build_op(model, op)
    end
    if host.errors() > before then
        return nil
    end
    model.tables = {
        layout = enum.read(TABLES, "KILN_TABLE_").LAYOUT,
        ladders = ladders, arch_fields = model.arch_fields, archs = archs,
        ops = ops, tiers = {},
    }
    return model
end

return M
