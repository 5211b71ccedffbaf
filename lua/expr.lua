-- expr.lua: the parser of the expression language, for planner expressions
-- and elementwise formulas alike.
--
--   expr  := 'let' NAME ['(' NAME, ... ')'] '=' expr 'in' expr
--          | 'if' expr 'then' expr 'else' expr
--          | 'match' '{' expr ':' expr, ... ['else' ':' expr] '}'
--          | operators, loosest first: or · and · not · == != < <= > >= ·
--            + - · * / // % · unary - · call
--   value := integer | float | true | false | "string" | NAME | arch.FIELD
--          | NAME '(' expr, ... ')' | '(' expr ')'
--   An argument may be a list: view(x, [B, T, D]).
--
-- expr.parse(text) -> a tree, or nil and {at=, text=}. Every node has kind and
-- `at`, its byte in the text from 1 (of a binary node: its operator):
--   number value float · string value · bool value · name name · arch name
--   unary op a · binary op a b · call name args · list items
--   if cond yes no · match arms={{cond=, value=}...} default
--   let name params value body

local reader = require "expr_reader"

local fail = reader.fail

local M = {}

local LEVELS = {
    {["or"] = true}, {["and"] = true}, "not",
    {["=="] = true, ["!="] = true, ["<"] = true, ["<="] = true,
     [">"] = true, [">="] = true},
    {["+"] = true, ["-"] = true},
    {["*"] = true, ["/"] = true, ["//"] = true, ["%"] = true},
}
local COMPARE = 4

local Parser = setmetatable({}, {__index = reader})
Parser.__index = Parser

function Parser:argument()
    local open = self:accept("[")
    if not open then
        return self:expr()
    end
    local items = self:sequence("]", self.expr)
    return self:node("list", open.at, {items = items}, items)
end

function Parser:number(token, sign)
    local value = tonumber(sign .. token.text)
    if token.float then
        if value == math.huge or value == -math.huge then
            fail(token.at, "%s is outside the range of a double", token.text)
        elseif value == 0 and token.text:find("^[0.]*[1-9]") then
            fail(token.at, "%s is too small for a double", token.text)
        end
    elseif math.type(value) ~= "integer" then
        fail(token.at, "%s%s is outside int64", sign, token.text)
    end
    return self:node("number", token.at, {value = value, float = token.float})
end

function Parser:word(token)
    if not self:accept("(") then
        return self:node("name", token.at, {name = token.text})
    end
    local args = self:sequence(")", self.argument)
    return self:node("call", token.at, {name = token.text, args = args}, args)
end

function Parser:primary()
    local token = self:peek()
    self.pos = self.pos + 1
    if token.kind == "number" then
        return self:number(token, "")
    elseif token.kind == "string" then
        return self:node("string", token.at, {value = token.text:sub(2, -2)})
    elseif token.kind == "name" then
        return self:word(token)
    elseif token.text == "true" or token.text == "false" then
        return self:node("bool", token.at, {value = token.text == "true"})
    elseif token.text == "arch" then
        self:expect(".")
        local field = self:expect_name("a field of the arch profile")
        return self:node("arch", token.at, {name = field.text})
    elseif token.text == "(" then
        local inner = self:expr()
        self:expect(")")
        return inner
    end
    self.pos = self.pos - 1
    self:unexpected("a value")
end

-- A minus before a number is part of it: the least int64 has no other form.
function Parser:unary()
    local minus = self:accept("-")
    if not minus then
        return self:primary()
    end
    local token = self:peek()
    if token.kind == "number" then
        self.pos = self.pos + 1
        local node = self:number(token, "-")
        node.at = minus.at
        return node
    end
    self:enter(minus.at)
    local a = self:unary()
    self.depth = self.depth - 1
    return self:node("unary", minus.at, {op = "-", a = a}, {a})
end

function Parser:negation(level)
    local word = self:accept("not")
    if not word then
        return self:operators(level + 1)
    end
    self:enter(word.at)
    local a = self:negation(level)
    self.depth = self.depth - 1
    return self:node("unary", word.at, {op = "not", a = a}, {a})
end

function Parser:operators(level)
    local ops = LEVELS[level]
    if not ops then
        return self:unary()
    elseif ops == "not" then
        return self:negation(level)
    end
    local a = self:operators(level + 1)
    local token = self:peek()
    while token.kind == "symbol" and ops[token.text] do
        self.pos = self.pos + 1
        local b = self:operators(level + 1)
        a = self:node("binary", token.at, {op = token.text, a = a, b = b},
                      {a, b})
        local last = token
        token = self:peek()
        if level == COMPARE and ops[token.text] then
            fail(token.at, "comparisons do not chain: write a %s b and b %s c",
                 last.text, token.text)
        end
    end
    return a
end

local function read_param(self)
    return self:expect_name("a parameter's name")
end

function Parser:params()
    local params, seen = {}, {}
    for i, token in ipairs(self:sequence(")", read_param)) do
        if seen[token.text] then
            fail(token.at, "the parameter %s is there twice", token.text)
        end
        seen[token.text] = true
        params[i] = token.text
    end
    return params
end

function Parser:let(at)
    local name = self:expect_name("a name").text
    local params = self:accept("(") and self:params() or nil
    self:expect("=")
    local value = self:expr()
    self:expect("in")
    local body = self:expr()
    local node = {name = name, params = params, value = value, body = body}
    return self:node("let", at, node, {value, body})
end

function Parser:conditional(at)
    local cond = self:expr()
    self:expect("then")
    local yes = self:expr()
    self:expect("else")
    local no = self:expr()
    return self:node("if", at, {cond = cond, yes = yes, no = no},
                     {cond, yes, no})
end

function Parser:match(at)
    local arms, below, default = {}, {}, nil
    self:expect("{")
    while not self:is("}") do
        local last = self:accept("else")
        local cond = not last and self:expr() or nil
        self:expect(":")
        local value = self:expr()
        below[#below + 1] = cond
        below[#below + 1] = value
        if last then
            default = value
        else
            arms[#arms + 1] = {cond = cond, value = value}
        end
        if not self:accept(",") or last then
            break
        end
    end
    self:expect("}")
    if #arms == 0 then
        fail(at, "match has no arm: write match {condition: value, ...}")
    end
    return self:node("match", at, {arms = arms, default = default}, below)
end

function Parser:expr()
    local at = self:peek().at
    local node
    self:enter(at)
    if self:accept("let") then
        node = self:let(at)
    elseif self:accept("if") then
        node = self:conditional(at)
    elseif self:accept("match") then
        node = self:match(at)
    else
        node = self:operators(1)
    end
    self.depth = self.depth - 1
    return node
end

local function parse(text)
    local self = setmetatable(reader.new(text), Parser)
    local node = self:expr()
    if self:peek().kind ~= "end" then
        self:unexpected("the end")
    end
    return node
end

function M.parse(text)
    local ok, result = pcall(parse, text)
    if ok then
        return result
    elseif type(result) ~= "table" then
        error(result, 0)
    end
    return nil, result
end

return M
