-- formula.lua: elementwise formulas as C, from the trees of expr.lua.
--
-- emit(ast, options) -> result | nil, {at=, text=}
--   options = {type = "float" or "double", the type computed in;
--     names = {x = "x"}: tensors, as C names of that type;
--     bools = {cond = true}: those of names that are conditions (an integer,
--       0 for false);
--     baked = {approximate = "tanh"}: attributes known here: a branch that
--       they decide is not emitted;
--     dynamic = {alpha = "alpha"}: other attributes, as C names;
--     divide = true: a / b is a call of div}
--   result = {constants = {"const float half = 0.5f;"}, lines = {statements},
--     result = C expression, ops = arithmetic operations of one element,
--     functions = {"kiln_exp_f32"} sorted,
--     used = {x = true}: tensors and dynamic attributes that stand in it}
-- count(ast) -> operations of one element, of the longer branches
-- c_name(name) -> name, or name_ where C and C++ have that word
--
-- Every operation is branch-free; a sum with a product is kiln_mad, whose
-- product may be rounded first: fma(a, b, c) is a * b + c where that must not
-- be. Literals other than 0 and 1 become named constants.

local emitter = require "formula.emitter"
local nodes = require "formula.nodes"

local M = {}

M.c_name = emitter.c_name

function M.emit(ast, options)
    local out = emitter.new(options, nodes)
    local ok, v = pcall(out.expect, out, "number", ast)
    if not ok then
        if type(v) ~= "table" then error(v, 0) end
        return nil, v
    end
    local functions = {}
    for name in pairs(out.functions) do functions[#functions + 1] = name end
    table.sort(functions)
    return {constants = out.constants, lines = out.lines, result = v.text,
            ops = out.ops, functions = functions, used = out.used}
end

function M.count(node)
    local kind = node.kind
    if kind == "unary" then
        return 1 + M.count(node.a)
    elseif kind == "binary" then
        return 1 + M.count(node.a) + M.count(node.b)
    elseif kind == "if" then
        return M.count(node.cond)
            + math.max(M.count(node.yes), M.count(node.no))
    elseif kind == "let" then
        return M.count(node.value) + M.count(node.body)
    end
    local n = kind == "call" and emitter.operations(node.name) or 0
    for _, arg in ipairs(node.args or {}) do n = n + M.count(arg) end
    for _, arm in ipairs(node.arms or {}) do
        n = n + M.count(arm.cond) + M.count(arm.value)
    end
    return n + (node.default and M.count(node.default) or 0)
end

return M
