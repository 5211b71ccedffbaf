-- expr.lua: an expression in a scope with one or two names of each kind (those
-- of fuzz/expr.c, in its order), compiled -> {text=, code=} and its type; nil
-- when it is refused. Also as an elementwise formula.

local compile = require("expr_compile").compile
local enum = require "enum"
local expr = require "expr"
local formula = require "formula"

local OPCODES = enum.read("runtime/core/expr.h", "KILN_X_")
local SCOPE = {
    lets = {N = 0, M = 1}, loops = {i = 0}, config = {tile = 0, lanes = 1},
    tensors = {x = 0, y = 1, z = 2}, arch = {cores = 0, row_tile = 1},
    ladders = {rows = 0, cols = 1},
    attrs = {
        dim = {index = 0, type = "int"}, eps = {index = 1, type = "float"},
        log = {index = 2, type = "bool"},
        mode = {index = 3, type = "string", choices = {"none", "tanh"}},
    },
}
local NAMES = {
    type = "float", names = {x = "x", y = "y", z = "z"}, bools = {log = "log"},
    baked = {mode = "tanh"}, dynamic = {eps = "eps"},
}

return function(input)
    local ast = expr.parse(input)
    if ast then
        local text = formula.emit(ast, NAMES)
        assert(not text or formula.count(ast) >= 0)
    end
    local compiled = compile(input, SCOPE)
    if not compiled then
        return nil
    end
    local code = {}
    for i, ins in ipairs(compiled.code) do
        code[i] = {
            op = assert(OPCODES[ins.op]), argc = ins.argc or 0,
            i = ins.i or 0, f = ins.f or 0.0,
        }
    end
    return {text = compiled.text, code = code}, compiled.type
end
