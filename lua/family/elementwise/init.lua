-- family/elementwise/init.lua: ops that compute each element from those at the
-- same place of the inputs, broadcast together. Reads op specs with a formula;
-- gives what lua/kernels.lua asks of a family.

local c = require "family.c"
local diag = require "diag"
local expr = require "expr"
local formula = require "formula"
local template = require "template"

local M = {
    space = "broadcast",
    in_place = true,
    variants = {"map"},
    layouts = {"contiguous", "inner", "general"},
}

local TEMPLATE = "family/elementwise/map.c.tmpl"

-- An expression of our own, as if the spec had it.
local function expression(op, text)
    return {text = text, node = op.node, ast = assert(expr.parse(text))}
end

local function output(op)
    for _, t in ipairs(op.tensors) do
        if t.role ~= "in" then return t end
    end
end

-- Attributes that are kernel arguments.
local function dynamic(op)
    local names = {}
    for _, attr in ipairs(op.attrs or {}) do
        if not attr.baked then names[#names + 1] = attr.name end
    end
    return names
end

local function slots(k)
    local list = c.slots(k)
    for _, name in ipairs(dynamic(k.op)) do
        list[#list + 1] = {kind = "FLOAT", expr = name}
    end
    return list
end

function M.recipe(k)
    return {
        slots = slots(k),
        units = "rows * cdiv(cols, block)",
        grain = "max(1, 16384 // min(cols, block))",
    }
end

-- The formula as C; on error nil and {at=, text=}. is_bool(t): whether tensor
-- t is a condition.
local function emit(op, ctype, baked, is_bool)
    local options = {type = ctype, names = {}, bools = {}, baked = baked,
                     dynamic = {}}
    for _, t in ipairs(op.tensors) do
        if t.role == "in" then
            options.names[t.name] = formula.c_name(t.name)
            options.bools[t.name] = is_bool(t)
        end
    end
    for _, name in ipairs(dynamic(op)) do
        options.dynamic[name] = formula.c_name(name)
    end
    return formula.emit(op.formula.ast, options)
end

local function values_of(attr)
    if attr.type == "bool" then return {false, true} end
    return attr.choices or {attr.default or 1}
end

-- Tries the formula with every combination of baked attributes, so that what
-- is wrong with it is reported at its place.
local function check(op, baked, i)
    local attr = (op.attrs or {})[i]
    if attr and not attr.baked then
        return check(op, baked, i + 1)
    elseif attr then
        for _, v in ipairs(values_of(attr)) do
            baked[attr.name] = v
            if not check(op, baked, i + 1) then return false end
        end
        return true
    end
    local value, why = emit(op, "float", baked, function(t)
        return t.dtypes[1] == "bool"
    end)
    if not value then
        diag.in_expr(op.formula.node, why.at, "%s", why.text)
    end
    return value ~= nil
end

-- Fills what a formula's op leaves out: one route, keyed by size.
function M.expand(op)
    local out = output(op).name
    local shape = {}
    for _, t in ipairs(op.tensors) do
        if t.role == "in" then
            shape[#shape + 1] = {tensor = t.name,
                                 exprs = {expression(op, "n")}}
        end
    end
    local bytes = string.format("numel(%s) * dtype_size(%s)", out, out)
    local key = expression(op, string.format("bucket(elements, numel(%s))",
                                             out))
    key.axis = "n"
    op.routes = {{name = "map", variant = "map", node = op.node}}
    op.key = {key}
    op.lattice = {
        shape = shape, attrs = {},
        within = expression(op, bytes .. " <= arch.lattice_bytes"),
    }
    op.flops = op.flops or expression(op, string.format(
        "%d * numel(%s)", formula.count(op.formula.ast), out))
    check(op, {}, 1)
end

-- A tensor as the template sees it: types, and the text of its row's start,
-- of an element, of loading and storing one.
local function describe(k, t)
    local ctype, _, mask = c.compute(k)
    local dtype, is_input = k.dtypes[t.name], t.role == "in"
    local d = {name = t.name, dtype = dtype, offset = "",
               type = dtype == "bool" and mask or ctype,
               pointer = (is_input and "const " or "") .. c.storage(dtype)}
    if k.layout ~= "contiguous" then
        d.offset = string.format(
            " +\n    kiln_row_offset(index, arg->rank, arg->%s_stride)", t.name)
    end
    d.element = string.format(k.layout == "general" and "%s_row[col * %s_step]"
                              or "%s_row[col]", t.name, t.name)
    d.load = c.load(k, dtype, d.element)
    d.store = c.store(k, dtype, t.name .. "_value")
    return d
end

-- The value function's parameters, and its arguments in the loop.
local function signature(k, ins, value)
    local ctype = c.compute(k)
    local params, args = {}, {}
    for i, t in ipairs(ins) do
        params[i] = string.format("const %s %s", t.type,
                                  formula.c_name(t.name))
        args[i] = t.name .. "_value"
    end
    for _, name in ipairs(dynamic(k.op)) do
        if value.used[name] then
            params[#params + 1] = string.format("const %s %s", ctype,
                                                formula.c_name(name))
            args[#args + 1] = "attr_" .. name
        end
    end
    return table.concat(params, ", "), table.concat(args, ", ")
end

-- What the formula uses: inputs; those and the output; dynamic attributes.
local function parts(k, value)
    local ins, all, attrs = {}, {}, {}
    for _, t in ipairs(k.op.tensors) do
        if t.role == "in" and value.used[t.name] then
            ins[#ins + 1] = describe(k, t)
        end
    end
    table.move(ins, 1, #ins, 1, all)
    all[#all + 1] = describe(k, output(k.op))
    for _, name in ipairs(dynamic(k.op)) do
        if value.used[name] then attrs[#attrs + 1] = "attr_" .. name end
    end
    return ins, all, attrs
end

local function bytes(all)
    local read, written = 0, 0
    for i, t in ipairs(all) do
        local width = c.width(t.dtype)
        if i < #all then
            read = read + width
        else
            written = written + width
        end
    end
    return string.format("%d an element: %d read, %d written", read + written,
                         read, written)
end

local function facts(value, all, ctype)
    return {
        {"bytes", bytes(all)},
        {"operations", string.format("%d an element", value.ops)},
        {"accumulation", "none; computed in " .. ctype},
        {"template", "lua/" .. TEMPLATE},
    }
end

local function joined(value)
    return {constants = table.concat(value.constants, "\n"),
            lines = table.concat(value.lines, "\n"), result = value.result}
end

function M.text(k)
    local ctype = c.compute(k)
    local value = assert(emit(k.op, ctype, k.baked, function(t)
        return k.dtypes[t.name] == "bool"
    end))
    local ins, all, attrs = parts(k, value)
    local out = all[#all]
    local params, values = signature(k, ins, value)
    local contiguous = k.layout == "contiguous"
    return template.render(TEMPLATE, host.embedded(TEMPLATE), {
        header = c.header(k, M.recipe(k), facts(value, all, ctype)),
        symbol = k.symbol, args = c.args_name(k), constants = c.constants(k),
        ctype = ctype, ins = ins, out = out, all = all, attrs = attrs,
        steps = k.layout == "general" and all or {}, params = params,
        values = values, value = joined(value),
        contiguous = contiguous,
        block = contiguous and "unit" or "(unit % blocks)",
    })
end

function M.prelude(file)
    return c.prelude(file, M.layouts, slots)
end

return M
