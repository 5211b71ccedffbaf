-- expr_reader.lua: the parser's hold on its words; expr.lua adds the grammar.
--
-- new(text) -> {tokens=, pos=, depth= of nested reads, height= of each node}
-- fail(at, format, ...) throws {at=, text=}
-- Both depth and height are bounded, so that nothing that walks a tree by
-- recursion can run out of stack.

local token_list = require "expr_token"

local fail = token_list.fail

local MAX_DEPTH = 200

local Reader = {fail = fail}

function Reader:peek()
    return self.tokens[self.pos]
end

function Reader:is(symbol)
    local token = self.tokens[self.pos]
    return token.kind == "symbol" and token.text == symbol
end

function Reader:accept(symbol)
    if self:is(symbol) then
        self.pos = self.pos + 1
        return self.tokens[self.pos - 1]
    end
end

function Reader:unexpected(wanted)
    local token = self:peek()
    local hint = ""
    if self:is("=") then
        hint = "; to compare, write =="
    elseif self:is("[") then
        hint = "; a list is allowed as an argument only"
    elseif self:is("if") or self:is("let") or self:is("match")
        or self:is("not") then
        hint = "; put it in parentheses"
    end
    local got = token.kind == "end" and token.text or "'" .. token.text .. "'"
    fail(token.at, "expected %s, not %s%s", wanted, got, hint)
end

function Reader:expect(symbol)
    return self:accept(symbol) or self:unexpected("'" .. symbol .. "'")
end

function Reader:expect_name(wanted)
    local token = self:peek()
    if token.kind ~= "name" then
        self:unexpected(wanted)
    end
    self.pos = self.pos + 1
    return token
end

-- Finishes a node; `below` are the nodes under it.
function Reader:node(kind, at, node, below)
    local height = 0
    for _, child in ipairs(below or {}) do
        height = math.max(height, self.height[child])
    end
    if height >= MAX_DEPTH then
        fail(at, "the expression is nested deeper than %d", MAX_DEPTH)
    end
    node.kind, node.at = kind, at
    self.height[node] = height + 1
    return node
end

-- Elements up to `close`, by `read`, with commas between.
function Reader:sequence(close, read)
    local list = {}
    while not self:is(close) do
        list[#list + 1] = read(self)
        if not self:accept(",") then
            break
        end
    end
    self:expect(close)
    return list
end

-- Goes one level down; the caller takes it back.
function Reader:enter(at)
    self.depth = self.depth + 1
    if self.depth > MAX_DEPTH then
        fail(at, "the expression is nested deeper than %d", MAX_DEPTH)
    end
end

function Reader.new(text)
    return {tokens = token_list.read(text), pos = 1, depth = 0, height = {}}
end

return Reader
