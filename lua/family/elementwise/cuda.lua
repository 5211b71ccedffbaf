-- family/elementwise/cuda.lua: the CUDA kernels of elementwise ops. Gives text,
-- recipe and prelude as family/elementwise/init.lua does, which hands over its
-- own: emit(k, options) -> the formula as C; output(op), dynamic(op).

local cuda = require "family.cuda"
local formula = require "formula"
local template = require "template"

local M = {layouts = {"contiguous", "inner", "general"}}

local CONTIGUOUS = "family/elementwise/map.cu.tmpl"
local ROWS = "family/elementwise/map_rows.cu.tmpl"

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
    local list = cuda.slots(k)
    for _, name in ipairs(dynamic(k.op)) do
        list[#list + 1] = {kind = "FLOAT", expr = name}
    end
    return list
end

function M.recipe(k)
    local width = cuda.vector_width(k)
    local units = "cdiv(cols, threads * unroll * %d)"
    if k.layout ~= "contiguous" then
        units = "cdiv(rows * cdiv(cols, %d), threads * unroll)"
    end
    return {slots = slots(k), units = units:format(width), grain = "1",
            threads = "threads", shared = "0", cluster = "1"}
end

-- Functions of math.cuh that have a fast form for 16-bit results.
local FAST = {div = true, erf = true, erfc = true, exp = true, log = true,
              tanh = true}

local function faster(text)
    return (text:gsub("kiln_(%l+)_f32%(", function(name)
        return FAST[name] and "kiln_" .. name .. "_fast(" or nil
    end))
end

local function nearer(text)
    return (text:gsub("kiln_div_f32%(", "kiln_div_near_f32("))
end

-- Whether the op's limits let a quotient be 2 units of the last place off.
local function may_be_near(k)
    local dtype = k.dtypes[output(k.op).name]
    for _, limit in ipairs(k.op.limits or {}) do
        if limit.dtype == dtype then return (limit.ulp or 0) >= 4 end
    end
    return false
end

-- The formula as C: {constants =, lines =, result =, ops =, used =}.
local function emit(k)
    local op, short = k.op, cuda.is_short(k)
    local ctype, suffix = cuda.compute(k)
    local near = suffix == "f32" and may_be_near(k)
    local options = {type = ctype, names = {}, bools = {}, baked = k.baked,
                     dynamic = {}, divide = short or near}
    for _, t in ipairs(op.tensors) do
        if t.role == "in" then
            options.names[t.name] = formula.c_name(t.name)
            options.bools[t.name] = k.dtypes[t.name] == "bool"
        end
    end
    for _, name in ipairs(dynamic(op)) do
        options.dynamic[name] = formula.c_name(name)
    end
    local value = assert(formula.emit(op.formula.ast, options))
    local change = short and faster or nearer
    return {
        constants = table.concat(value.constants, "\n"),
        lines = change(table.concat(value.lines, "\n")),
        result = change(value.result),
        ops = value.ops, used = value.used,
    }
end

-- A tensor as the templates see it.
local function describe(k, t)
    local ctype, _, mask = cuda.compute(k)
    local dtype, is_input = k.dtypes[t.name], t.role == "in"
    local from = k.layout == "contiguous" and "arg.%s_data[%s]"
        or "%s_at[i][%s]"
    return {
        name = t.name, dtype = dtype, vector = cuda.vector(k, dtype),
        type = dtype == "bool" and mask or ctype,
        pointer = (is_input and "const " or "") .. cuda.storage(dtype),
        col = k.layout == "general"
            and string.format("col * arg.%s_row_stride", t.name) or "col",
        last = function(at)
            return cuda.load(k, dtype, from:format(t.name, at))
        end,
        store = cuda.store(k, dtype, t.name .. "_last"),
    }
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

-- The value function's parameters, and its arguments by what follows the
-- tensors' names.
local function signature(k, ins, attrs)
    local ctype, params = cuda.compute(k), {}
    for i, t in ipairs(ins) do
        params[i] = string.format("const %s %s", t.type,
                                  formula.c_name(t.name))
    end
    for _, name in ipairs(attrs) do
        params[#params + 1] = string.format("const %s %s", ctype,
            formula.c_name(name:gsub("^attr_", "", 1)))
    end
    return table.concat(params, ", "), function(suffix)
        local args = {}
        for i, t in ipairs(ins) do args[i] = t.name .. suffix end
        table.move(attrs, 1, #attrs, #args + 1, args)
        return table.concat(args, ", ")
    end
end

local function facts(k, value, all, path)
    local read, written = 0, cuda.width(all[#all].dtype)
    for i = 1, #all - 1 do read = read + cuda.width(all[i].dtype) end
    return {
        {"bytes", string.format("%d an element: %d read, %d written",
                                read + written, read, written)},
        {"operations", string.format("%d an element", value.ops)},
        {"accumulation", "none; computed in " .. cuda.compute(k)},
        {"template", "lua/" .. path},
    }
end

function M.text(k)
    local path = k.layout == "contiguous" and CONTIGUOUS or ROWS
    local value, width = emit(k), cuda.vector_width(k)
    local ins, all, attrs = parts(k, value)
    local params, values = signature(k, ins, attrs)
    return template.render(path, host.embedded(path), {
        header = cuda.header(k, M.recipe(k), facts(k, value, all, path)),
        symbol = k.symbol, args = cuda.args_name(k),
        constants = cuda.constants(k, {
            {"width", ("%d"):format(width)}, {"tile", "THREADS * UNROLL"},
        }),
        bounds = cuda.bounds(k), ctype = cuda.compute(k),
        ins = ins, all = all, out = all[#all], attrs = attrs,
        params = params, values = values, value = value, width = width,
    })
end

function M.prelude(file)
    return cuda.prelude(file, M.layouts, slots)
end

return M
