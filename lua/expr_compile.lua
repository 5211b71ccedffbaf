-- expr_compile.lua: an expression's text as code of runtime/core/expr.h.
--
-- compile(text, scope) -> {text=, code={{op=, argc=, i=, f=}...}, type=}
--   | nil, {at=, text=}
--   scope: see expr_scope.lua; scope.choices (a list) lets the value be one of
--   these strings, as its index from 0. text: as written, blanks folded.
--   type: see expr_type.lua.
--
-- `let` and functions are inlined: what stands for a name is copied to where
-- it is used, so one that is not used is not evaluated.

local Compiler = require "expr_code"
local expr = require "expr"
local scopes = require "expr_scope"
local types = require "expr_type"
require "expr_inline"

local BINARY = {
    ["+"] = "ADD", ["-"] = "SUB", ["*"] = "MUL", ["/"] = "DIV",
    ["//"] = "FLOORDIV", ["%"] = "MOD", ["=="] = "EQ", ["!="] = "NE",
    ["<"] = "LT", ["<="] = "LE", [">"] = "GT", [">="] = "GE",
}

local function local_names(env)
    local list = {}
    while env do
        list[#list + 1] = env.name
        env = env.outer
    end
    return list
end

local emit = Compiler.emit_node

function emit.number(self, node)
    if node.float then
        self:add("FLOAT", 0, 0, node.value)
        return "float"
    end
    self:add("INT", node.value)
    return "int"
end

function emit.bool(self, node)
    self:add("BOOL", node.value and 1 or 0)
    return "bool"
end

function Compiler:choice(node, choices, what)
    for i, choice in ipairs(choices) do
        if choice == node.value then
            self:add("INT", i - 1)
            return "string"
        end
    end
    self:fail(node.at, '"%s" is not a choice%s: %s', node.value, what,
              table.concat(choices, ", "))
end

function emit.string(self, node)
    if not self.choices then
        self:fail(node.at, "a string can only be compared with an attribute "
                  .. "by == or !=")
    end
    return self:choice(node, self.choices, " here")
end

-- An attribute that stands for one of the choices that are asked for.
function Compiler:same_choices(node, choices)
    local here = table.concat(self.choices, ", ")
    local there = table.concat(choices, ", ")
    if here ~= there then
        self:fail(node.at, "%s is one of %s; here the choices are %s",
                  node.name, there, here)
    end
end

function emit.name(self, node, env)
    local name = node.name
    local found = Compiler.find_local(env, name)
    if found and found.code then
        return self:copy(found, node.at)
    elseif found then
        self:fail(node.at, "%s is a function: write %s(...)", name, name)
    end
    found = scopes.find(self.scope, name)
    if not found then
        local known = scopes.all(self.scope, local_names(env))
        self:fail(node.at, "unknown name %s%s", name,
                  scopes.meant(name, known))
    elseif found.wrong then
        self:fail(node.at, "%s " .. found.wrong, name, name)
    end
    self:add(found.op, found.i, 0, found.f)
    if found.type == "string" and self.choices then
        self:same_choices(node, found.attr.choices)
    end
    return found.type, found.attr
end

function emit.arch(self, node)
    local fields = self.scope.arch or {}
    if not fields[node.name] then
        self:fail(node.at, "unknown field arch.%s%s", node.name,
                  scopes.meant(node.name, scopes.keys(fields)))
    end
    self:add("ARCH", fields[node.name])
    return "int"
end

function emit.list(self, node)
    self:fail(node.at, "a list is allowed as an argument of a built-in call "
              .. "only")
end

function emit.unary(self, node, env)
    local type = self:emit(node.a, env)
    if node.op == "not" then
        self:need(type, "b", node.a.at, "not")
        self:add("NOT")
        return "bool"
    end
    self:need(type, "n", node.a.at, "-")
    self:add("NEG")
    return type == "any" and "number" or type
end

-- attribute == "choice": a string has a meaning beside its attribute alone.
function Compiler:compare_string(node, env)
    local a, b = node.a, node.b
    if a.kind == "string" then
        a, b = b, a
    end
    local _, attr = self:emit(a, env)
    if not attr or attr.type ~= "string" then
        self:fail(b.at, "a string can only be compared with a string "
                  .. "attribute")
    end
    self:choice(b, attr.choices or {}, " of the attribute")
end

-- == and !=: of numbers, of bools, of an attribute and a string.
function Compiler:equality(node, env)
    local choices = self.choices
    self.choices = nil
    if node.a.kind == "string" or node.b.kind == "string" then
        self:compare_string(node, env)
    else
        local a = self:emit(node.a, env)
        local b = self:emit(node.b, env)
        if a == "string" or b == "string" then
            self:fail(node.at, "compare a string attribute with one of its "
                      .. "choices in double quotes")
        elseif types.fits(a, "b") and a ~= "any" then
            self:need(b, "b", node.b.at, node.op .. " with a bool")
        elseif types.fits(b, "b") and b ~= "any" then
            self:need(a, "b", node.a.at, node.op .. " with a bool")
        else
            self:need(a, "n", node.a.at, node.op)
            self:need(b, "n", node.b.at, node.op)
        end
    end
    self.choices = choices
end

-- and, or: the right side is passed over when the left decides.
function Compiler:logic(node, env)
    self:need(self:emit(node.a, env), "b", node.a.at, node.op)
    local ins, from = self:add(node.op:upper())
    self:need(self:emit(node.b, env), "b", node.b.at, node.op)
    self:add("BOOLEAN")
    self:land(ins, from)
    return "bool"
end

function emit.binary(self, node, env)
    local op = node.op
    if op == "and" or op == "or" then
        return self:logic(node, env)
    elseif op == "==" or op == "!=" then
        self:equality(node, env)
        self:add(BINARY[op])
        return "bool"
    end
    local letter = (op == "//" or op == "%") and "i" or "n"
    local a = self:emit(node.a, env)
    self:need(a, letter, node.a.at, op)
    local b = self:emit(node.b, env)
    self:need(b, letter, node.b.at, op)
    self:add(BINARY[op])
    if op == "/" then
        return "float"
    elseif letter == "i" then
        return "int"
    end
    return op:find("[<>]") and "bool" or types.sum(a, b)
end

-- One guarded value; returns the jump from its end, to land later.
function Compiler:arm(cond, value, env, what)
    self:need(self:emit(cond, env), "b", cond.at, what)
    local skip, from = self:add("JUMP_FALSE")
    local type = self:emit(value, env)
    local out, out_from = self:add("JUMP")
    self:land(skip, from)
    return type, out, out_from
end

function Compiler:same(type, other, at)
    local both = types.either(type, other)
    if not both then
        self:fail(at, "one branch gives %s, another %s", types.names[type],
                  types.names[other])
    end
    return both
end

emit["if"] = function(self, node, env)
    local type, jump, from = self:arm(node.cond, node.yes, env, "if")
    local other = self:emit(node.no, env)
    self:land(jump, from)
    return self:same(type, other, node.no.at)
end

function emit.match(self, node, env)
    local type
    local jumps = {}
    for i, arm in ipairs(node.arms) do
        local given, jump, from = self:arm(arm.cond, arm.value, env,
                                           "an arm of match")
        type = type and self:same(type, given, arm.value.at) or given
        jumps[i] = {jump, from}
    end
    if node.default then
        type = self:same(type, self:emit(node.default, env), node.default.at)
    else
        self:add("FAIL")
    end
    for _, jump in ipairs(jumps) do
        self:land(jump[1], jump[2])
    end
    return type
end

--- The whole.

local function compile(tree, scope)
    local self = Compiler.new(scope)
    local type = self:emit(tree)
    self:check(tree.at)
    return self.out, type
end

local M = {}

function M.compile(text, scope)
    local tree, why = expr.parse(text)
    if not tree then
        return nil, why
    end
    local ok, code, kind = pcall(compile, tree, scope or {})
    if ok then
        local folded = text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
        return {text = folded, code = code, type = kind}
    elseif type(code) ~= "table" then
        error(code, 0) -- a defect of ours
    end
    return nil, code
end

return M
