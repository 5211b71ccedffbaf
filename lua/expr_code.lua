-- expr_code.lua: code in the making, for expr_compile.lua and expr_inline.lua.
--
-- A Compiler: {scope=, out=code, work= done so far, choices= that a string may
-- be or nil, place= for all errors or nil, active= functions being inlined}
-- emit(node, env) adds node's code and returns its type (and, of a string, its
-- attribute); `emit` holds a function for each kind of node.
-- env: local names, innermost first: {name=, outer=, and of a value code=,
-- type=, attr=; of a function params=, body=, env=; self= inside its body}

local types = require "expr_type"

local MAX_CODE = 4096   -- instructions of one expression
local MAX_WORK = 200000 -- nodes visited and instructions copied
local MAX_STACK = 64    -- ORDER: KILN_EXPR_STACK

-- Values more on the stack after an instruction. A jump ends a branch, whose
-- value the next branch gives instead. Calls take argc and give one.
local EFFECT = {
    NEG = 0, NOT = 0, BOOLEAN = 0, JUMP = -1, JUMP_FALSE = -1, AND = -1,
    OR = -1, ADD = -1, SUB = -1, MUL = -1, DIV = -1, FLOORDIV = -1, MOD = -1,
    EQ = -1, NE = -1, LT = -1, LE = -1, GT = -1, GE = -1,
}

local Compiler = {emit_node = {}}
Compiler.__index = Compiler

function Compiler:fail(at, ...)
    error({at = self.place or at, text = string.format(...)}, 0)
end

function Compiler:spend(at, n)
    self.work = self.work + n
    if #self.out > MAX_CODE or self.work > MAX_WORK then
        self:fail(at, "the expression grows past %d instructions once its "
                  .. "lets and functions are put in place", MAX_CODE)
    end
end

function Compiler:add(op, i, argc, f)
    local ins = {op = op, argc = argc or 0, i = i or 0, f = f or 0.0}
    self.out[#self.out + 1] = ins
    return ins, #self.out
end

-- Makes a jump that was added at `from` go to the end of the code so far.
function Compiler:land(ins, from)
    ins.i = #self.out - from
end

function Compiler:emit(node, env)
    self:spend(node.at, 1)
    return self.emit_node[node.kind](self, node, env)
end

function Compiler:need(type, letter, at, what)
    if not types.fits(type, letter) then
        self:fail(at, "%s needs %s, not %s", what, types.words[letter],
                  types.names[type])
    end
end

-- Compiles node into code of its own.
function Compiler:apart(node, env)
    local out = self.out
    self.out = {}
    local type, attr = self:emit(node, env)
    local made = {code = self.out, type = type, attr = attr}
    self.out = out
    return made
end

function Compiler:copy(value, at)
    self:spend(at, #value.code)
    table.move(value.code, 1, #value.code, #self.out + 1, self.out)
    return value.type, value.attr
end

-- The most values that the code holds at once.
function Compiler:deepest()
    local depth, most = 0, 0
    for _, ins in ipairs(self.out) do
        local effect = ins.argc > 0 and 1 - ins.argc or EFFECT[ins.op] or 1
        depth = depth + effect
        most = math.max(most, depth)
    end
    return most
end

function Compiler:check(at)
    self:spend(at, 0)
    if self:deepest() > MAX_STACK then
        self:fail(at, "the expression holds more than %d values at once",
                  MAX_STACK)
    end
end

function Compiler.new(scope)
    return setmetatable({scope = scope, out = {}, work = 0, active = {},
                         choices = scope.choices}, Compiler)
end

return Compiler
