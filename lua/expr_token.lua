-- expr_token.lua: the words of an expression.
--
-- read(text) -> list of {kind="number"|"string"|"name"|"symbol"|"end", text=,
--   at=, float= of a number}; an error is thrown as {at=, text=}
-- fail(at, format, ...) throws one

local M = {}

local MAX_BYTES = 4096

local KEYWORDS = {
    ["let"] = true, ["in"] = true, ["if"] = true, ["then"] = true,
    ["else"] = true, ["match"] = true, ["and"] = true, ["or"] = true,
    ["not"] = true, ["true"] = true, ["false"] = true, ["arch"] = true,
}

local SYMBOLS = {
    ["//"] = true, ["=="] = true, ["!="] = true, ["<="] = true, [">="] = true,
    ["+"] = true, ["-"] = true, ["*"] = true, ["/"] = true, ["%"] = true,
    ["<"] = true, [">"] = true, ["="] = true, ["("] = true, [")"] = true,
    ["["] = true, ["]"] = true, ["{"] = true, ["}"] = true, [","] = true,
    [":"] = true, ["."] = true,
}

-- What other languages write, and what is meant here.
local FOREIGN = {
    ["&&"] = "write and", ["||"] = "write or", ["**"] = "there is no power",
    ["<>"] = "write !=", ["!"] = "write not", ["^"] = "there is no power",
    ["'"] = 'strings stand in double quotes',
    ["?"] = "write if .. then .. else",
}

function M.fail(at, ...)
    error({at = at, text = string.format(...)}, 0)
end

local fail = M.fail

local function read_number(text, at)
    local whole = text:match("^%d+", at)
    local stop = at + #whole
    local point = text:match("^%.%d*", stop) or ""
    local power = text:match("^[eE][+-]?%d*", stop + #point) or ""
    local word = whole .. point .. power
    local after = text:sub(at + #word, at + #word)
    if point == "." then
        fail(stop + 1, "a digit is missing after the point: write %s.0", whole)
    elseif power ~= "" and not power:find("%d") then
        fail(at + #word, "a digit is missing after %s", power)
    elseif after:find("[%w_.]") then
        fail(at + #word, "%s%s is not a number", word, after)
    elseif whole:find("^0%d") then
        fail(at, "a number does not start with 0: write %s",
             (word:gsub("^0+(%d)", "%1")))
    end
    local float = point ~= "" or power ~= ""
    return {kind = "number", text = word, at = at, float = float}
end

local function read_string(text, at)
    local stop = text:find('["\\\n]', at + 1)
    if not stop or text:sub(stop, stop) == "\n" then
        fail(at, "the string has no end")
    elseif text:sub(stop, stop) == "\\" then
        fail(stop, "a string has no escapes")
    end
    return {kind = "string", text = text:sub(at, stop), at = at}
end

local function read_symbol(text, at)
    local two, one = text:sub(at, at + 1), text:sub(at, at)
    if FOREIGN[two] then
        fail(at, "unexpected %s: %s", two, FOREIGN[two])
    elseif SYMBOLS[two] or SYMBOLS[one] then
        return {kind = "symbol", text = SYMBOLS[two] and two or one, at = at}
    elseif FOREIGN[one] then
        fail(at, "unexpected %s: %s", one, FOREIGN[one])
    elseif one:find("%c") then
        fail(at, "byte %d is not allowed", one:byte())
    end
    fail(at, "unexpected %s", one)
end

local function read_token(text, at)
    if text:find("^%d", at) then
        return read_number(text, at)
    elseif text:find("^%.%d", at) then
        fail(at, "a digit is missing before the point: write 0%s",
             text:match("^%.%d+", at))
    elseif text:find('^"', at) then
        return read_string(text, at)
    end
    local word = text:match("^[A-Za-z_][A-Za-z0-9_]*", at)
    if not word then
        return read_symbol(text, at)
    end
    local kind = KEYWORDS[word] and "symbol" or "name"
    return {kind = kind, text = word, at = at}
end

function M.read(text)
    local bad = text:find("[\128-\255]")
    if bad then
        fail(bad, "only ASCII is allowed in an expression")
    elseif #text > MAX_BYTES then
        fail(MAX_BYTES + 1, "the expression has %d bytes, at most %d are "
             .. "allowed", #text, MAX_BYTES)
    end
    local tokens = {}
    local at = text:find("[^ \t\r\n]")
    while at do
        local token = read_token(text, at)
        tokens[#tokens + 1] = token
        at = text:find("[^ \t\r\n]", at + #token.text)
    end
    tokens[#tokens + 1] = {kind = "end", text = "the end", at = #text + 1}
    return tokens
end

return M
