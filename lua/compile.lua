-- compile.lua: expressions of specs resolved against what they may name, in
-- the form that the core loads ({text=, code={ins}}; see tables.h).
--
-- compile.scope(model, op) -> scope of an op's planner expressions
-- compile.expr(x, scope) -> compiled expr; x: {text=, node=} or nil (absent).
--   Errors go to the sink at the expression's place; an absent or wrong one
--   gives the absent expr.
-- compile.text(text, scope) -> the same for a text of our own (families)
-- compile.constants(text, constants) -> value | nil, {at=, text=}

local diag = require "diag"
local enum = require "enum"
local expr_compile = require "expr_compile"

local M = {}

local function numbers(list, key)
    local out = {}
    for i, item in ipairs(list) do
        out[key and item[key] or item] = i - 1
    end
    return out
end

function M.scope(model, op)
    local attrs = {}
    for i, attr in ipairs(op.attrs) do
        attrs[attr.name] = {
            index = i - 1, type = attr.type, choices = attr.choices,
        }
    end
    return {
        lets = {}, loops = {}, attrs = attrs,
        tensors = numbers(op.tensors, "name"),
        arch = numbers(model.arch_fields),
        ladders = numbers(model.ladders, "name"),
    }
end

-- A copy of scope with more names in one of its tables.
function M.with(scope, field, names)
    local out, copy = {}, {}
    for k, v in pairs(scope) do
        out[k] = v
    end
    for k, v in pairs(scope[field] or {}) do
        copy[k] = v
    end
    for k, v in pairs(names) do
        copy[k] = v
    end
    out[field] = copy
    return out
end

-- Opcodes as the header's enumerators.
local function finish(compiled)
    local opcodes = enum.read("runtime/core/expr.h", "KILN_X_")
    local code = {}
    for i, ins in ipairs(compiled.code) do
        code[i] = {
            op = assert(opcodes[ins.op], ins.op), argc = ins.argc or 0,
            i = ins.i or 0, f = ins.f or 0.0,
        }
    end
    return {text = compiled.text, code = code, type = compiled.type}
end

function M.absent()
    return {text = "", code = {}}
end

function M.expr(x, scope)
    if not x then
        return M.absent()
    end
    local compiled, why = expr_compile.compile(x.text, scope)
    if not compiled then
        diag.in_expr(x.node, why.at or 1, "%s", why.text)
        return M.absent()
    end
    return finish(compiled)
end

function M.text(text, scope)
    local compiled, why = expr_compile.compile(text, scope)
    if not compiled then
        error(("expression `%s`: %s"):format(text, why.text))
    end
    return finish(compiled)
end

function M.constants(text, constants)
    local compiled, why = expr_compile.compile(text, {constants = constants})
    if not compiled then
        return nil, why
    end
    local value, message = core.eval(finish(compiled))
    if value == nil then
        return nil, {at = 1, text = message}
    end
    return value
end

return M
