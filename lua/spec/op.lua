-- spec/op.lua: one op file into an op record (see spec.lua).
-- Reads the record that schema.op describes; reports what it leaves open.

local attr = require "spec.attr"
local diag = require "diag"
local names = require "spec.names"
local read = require "read"
local route = require "spec.route"
local schema = require "schema"
local tensor = require "spec.tensor"

local M = {}

local function named_expr(entry)
    local value = entry.value
    return {name = entry.name, text = value.text, node = value.node,
            ast = value.ast}
end

local function read_lets(map, scope)
    local lets = {}
    for _, entry in ipairs(map or {}) do
        if names.take(scope, entry.name, "a let", entry.node) then
            lets[#lets + 1] = named_expr(entry)
        end
    end
    if map then names.check_count(map, schema.most.lets, "lets") end
    return lets
end

-- An axis may have the name of the let that it buckets.
local function read_key(map, op)
    local key, taken = {}, names.scope()
    for _, t in ipairs(op.tensors) do
        names.take(taken, t.name, "a tensor", t.node)
    end
    for _, a in ipairs(op.attrs) do
        names.take(taken, a.name, "an attribute", a.node)
    end
    for _, entry in ipairs(map or {}) do
        if names.take(taken, entry.name, "an axis", entry.node) then
            local axis = named_expr(entry)
            axis.axis, axis.name = axis.name, nil
            key[#key + 1] = axis
        end
    end
    if map then names.check_count(map, schema.most.axes, "axes") end
    return key
end

local function find(list, name)
    for _, item in ipairs(list) do
        if item.name == name then return item end
    end
    return nil
end

local function names_of(list)
    local result = {}
    for i, item in ipairs(list) do result[i] = item.name end
    return result
end

local function lattice_attr(entry, op)
    local a = find(op.attrs, entry.name)
    if not a then
        diag.unknown(entry.node, "attribute", entry.name, names_of(op.attrs))
        return nil
    end
    if not a.baked then
        diag.at(entry.node, "attribute %s is dynamic and stands in no key; "
                .. "only baked ones have lattice values", a.name)
    end
    local values, seen = {}, {}
    for i, node in ipairs(entry.value) do
        local label = string.format("%s[%d]", a.name, i)
        local value = a.type and attr.value(a, node, label)
        if value ~= nil and seen[value] then
            diag.at(node, "%s stands twice in the list", node.text)
        elseif value ~= nil then
            seen[value] = true
            values[#values + 1] = value
        end
    end
    return {name = a.name, values = values, node = entry.node}
end

local function read_lattice(value, op)
    local lattice = {shape = {}, attrs = {}, within = value.within,
                     node = value.node}
    for _, entry in ipairs(value.shape or {}) do
        local t = find(op.tensors, entry.name)
        if not t then
            diag.unknown(entry.node, "tensor", entry.name,
                         names_of(op.tensors))
        elseif t.role == "out" then
            diag.at(entry.node, "the shape of output %s follows from the "
                    .. "inputs", t.name)
        end
        names.check_rank(entry.value)
        lattice.shape[#lattice.shape + 1] = {
            tensor = entry.name, exprs = entry.value, node = entry.node,
        }
    end
    for _, entry in ipairs(value.attrs or {}) do
        lattice.attrs[#lattice.attrs + 1] = lattice_attr(entry, op)
    end
    return lattice
end

-- Every dtype that an output may have, in the dtypes' order.
local function output_dtypes(op)
    local set, list = {}, {}
    for _, t in ipairs(op.tensors) do
        if t.role ~= "in" then
            for name in pairs(tensor.possible(t, op.tensors)) do
                set[name] = true
            end
        end
    end
    for _, name in ipairs(schema.dtypes) do
        if set[name] then list[#list + 1] = name end
    end
    return list, set
end

-- sure: the tensors are right, so that the outputs' dtypes are known.
local function read_limits(map, op, sure)
    local limits = {}
    local allowed, set = output_dtypes(op)
    for _, entry in ipairs(map or {}) do
        local v = entry.value
        if sure and not set[entry.name] then
            diag.unknown(entry.node, "output dtype", entry.name, allowed)
        elseif not (v.at.ulp or v.at.abs or v.at.l2) then
            diag.at(entry.node, "the limit of %s lacks ulp, abs or l2",
                    entry.name)
        end
        limits[#limits + 1] = {dtype = entry.name, ulp = v.ulp, abs = v.abs,
                               l2 = v.l2, node = entry.node}
    end
    return limits
end

-- What a formula cannot say: an input that is absent, or written.
local function check_formula_tensors(op)
    for _, t in ipairs(op.tensors) do
        if t.optional then
            diag.at(t.node, "tensor %s: an elementwise op has no optional "
                    .. "tensors", t.name)
        elseif t.role == "inout" then
            diag.at(t.node, "tensor %s: an elementwise op has no inout "
                    .. "tensors: name it once as in and once as out, and "
                    .. "give the call the same memory", t.name)
        end
    end
end

local function check_elementwise(op, value)
    check_formula_tensors(op)
    for _, field in ipairs {"routes", "key", "lattice"} do
        if value.at[field] then
            diag.at(value.at[field], "an elementwise op has no %s: its "
                    .. "formula says all", field)
        end
    end
    if not value.at.formula then
        diag.at(value.node, "an elementwise op lacks formula: its output "
                .. "from its inputs, such as formula: x * x")
    end
    local outputs = 0
    for _, t in ipairs(op.tensors) do
        if t.role ~= "in" then outputs = outputs + 1 end
    end
    if outputs > 1 then
        diag.at(value.at.tensors, "an elementwise op has one output, not %d",
                outputs)
    end
end

-- Fields that only ops with kernels of their own have.
local function check_routed(op, value, variants)
    if value.at.formula then
        diag.at(value.at.formula, "only a family: elementwise op has a "
                .. "formula")
    end
    if not value.at.routes then
        diag.at(value.node, "op %s lacks routes: how it picks a variant or "
                .. "its steps", op.name)
    end
    if variants > 0 and not value.at.key then
        diag.at(value.node, "op %s has variants and lacks key: {M: "
                .. '"bucket(rows, M)"}', op.name)
    end
    for _, field in ipairs {"key", "lattice"} do
        if value.at.routes and variants == 0 and value.at[field] then
            diag.at(value.at[field], "op %s has steps alone: %s belongs to "
                    .. "ops with variants", op.name, field)
        end
    end
end

local function check_family(op, value)
    local variants = 0
    for _, r in ipairs(op.routes) do
        if r.variant then variants = variants + 1 end
        if r.variant and op.family == "composite" then
            diag.at(r.node, "a composite op has no variants: give the route "
                    .. "a name and steps")
        end
    end
    if op.family == "elementwise" then
        check_elementwise(op, value)
    elseif op.family then
        check_routed(op, value, variants)
    end
    local kernels = op.family == "elementwise" or variants > 0
    if kernels and not value.at.limits then
        diag.at(value.node, "op %s has kernels and lacks limits: {f32: {ulp: "
                .. "4}}", op.name)
    end
end

-- entry: {spec=, path=, root=}; options.order: fields in the fixed order.
-- The record, whatever was wrong with it; name nil when even that is.
function M.build(node, entry, options)
    local before = host.errors()
    local value = read.value(node, schema.op, "op")
    if not value then return nil end
    if options.order then read.check_order(node, schema.op) end
    if value.op then names.check_op(value.op, value.at.op) end
    local scope = names.scope()
    local op = {
        name = value.op, family = value.family, doc = value.doc,
        pytorch = value.pytorch, spec = entry.spec, path = entry.path,
        root = entry.root, node = node, flops = value.flops,
        formula = value.formula, tensors = {}, at = value.at,
    }
    if value.tensors then
        op.tensors = tensor.read(value.tensors, value.family, scope)
    end
    local sure = host.errors() == before
    op.attrs = attr.read(value.attrs, scope)
    op.lets = read_lets(value.let, scope)
    op.routes = route.read(value.routes, op.tensors, scope)
    op.key = read_key(value.key, op)
    op.lattice = value.lattice and read_lattice(value.lattice, op)
    op.limits = read_limits(value.limits, op, sure)
    check_family(op, value)
    return op
end

return M
