-- json.lua: JSON as RFC 8259 has it, and nothing more.
-- Reads a text; returns Lua values: objects and arrays as tables (arrays
-- answer json.is_array), null as json.null, integers exact.
-- Refused: duplicate keys, lone surrogates, bad UTF-8, a byte-order mark,
-- nesting past 64, numbers no double holds, anything after the value.

local find, sub, byte = string.find, string.sub, string.byte

local M = {}

local DEEPEST = 64

M.null = setmetatable({}, {__tostring = function() return "null" end})

local ARRAY = {}

function M.is_array(value)
    return getmetatable(value) == ARRAY
end

-- Raised inside the parser, caught in M.parse: {at=, text=}.
local function fail(at, fmt, ...)
    error({at = at, text = string.format(fmt, ...)}, 0)
end

local function skip(s, at)
    return (find(s, "[^ \t\n\r]", at)) or #s + 1
end

-- What stands at `at`, for a message.
local function seen(s, at)
    if at > #s then return "the text ends" end
    local char = s:match("^" .. utf8.charpattern, at)
    if byte(char) < 32 then
        return string.format("found byte 0x%02x", byte(char))
    end
    return "found " .. char
end

local ESCAPE = {
    ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f",
    n = "\n", r = "\r", t = "\t",
}

local function hex4(s, at)
    local digits = s:match("^u(%x%x%x%x)", at)
    if not digits then fail(at - 1, "\\u needs four hexadecimal digits") end
    return tonumber(digits, 16)
end

-- \uXXXX whose u is at `at`: the character and the place after it.
local function unicode(s, at)
    local high = hex4(s, at)
    if high < 0xD800 or high > 0xDFFF then return utf8.char(high), at + 5 end
    if high > 0xDBFF or sub(s, at + 5, at + 6) ~= "\\u" then
        fail(at - 1, "lone surrogate \\u%04x", high)
    end
    local low = hex4(s, at + 6)
    if low < 0xDC00 or low > 0xDFFF then
        fail(at - 1, "lone surrogate \\u%04x", high)
    end
    local point = 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00)
    return utf8.char(point), at + 11
end

-- A string with escapes, opened by the quote at `open`.
local function long_string(s, open)
    local parts = {}
    local at = open + 1
    while true do
        local _, stop = find(s, '^[^"\\\0-\31]*', at)
        parts[#parts + 1] = sub(s, at, stop)
        at = stop + 1
        local c = sub(s, at, at)
        if c == '"' then return table.concat(parts), at + 1 end
        if c == "" then fail(open, "string has no closing quote") end
        if c ~= "\\" then
            fail(at, "control byte 0x%02x in a string; write \\u%04x",
                 byte(c), byte(c))
        end
        local e = sub(s, at + 1, at + 1)
        if e == "u" then
            parts[#parts + 1], at = unicode(s, at + 1)
        elseif ESCAPE[e] then
            parts[#parts + 1], at = ESCAPE[e], at + 2
        else
            fail(at, "unknown escape \\%s", e)
        end
    end
end

local function read_string(s, at)
    local _, stop, text = find(s, '^"([^"\\\0-\31]*)"', at)
    if stop then return text, stop + 1 end
    return long_string(s, at)
end

local function read_number(s, at)
    local _, stop = find(s, "^-?%d+", at)
    if not stop then fail(at, "a number needs a digit after -") end
    if find(s, "^-?0%d", at) then fail(at, "a number has no leading zero") end
    if sub(s, stop + 1, stop + 1) == "." then
        local _, digits = find(s, "^%d+", stop + 2)
        if not digits then fail(stop + 1, "a digit must follow the point") end
        stop = digits
    end
    if find(s, "^[eE]", stop + 1) then
        local _, digits = find(s, "^[eE][+-]?%d+", stop + 1)
        if not digits then fail(stop + 1, "the exponent needs a digit") end
        stop = digits
    end
    local text = sub(s, at, stop)
    local value = tonumber(text)
    if value - value ~= 0 then fail(at, "%s lies outside double", text) end
    return value, stop + 1
end

local read_value

local function read_object(s, at, depth)
    local object = {}
    at = skip(s, at + 1)
    if byte(s, at) == 125 then return object, at + 1 end
    while true do
        if byte(s, at) ~= 34 then
            fail(at, 'a key in quotes expected; %s', seen(s, at))
        end
        local key, after = read_string(s, at)
        if object[key] ~= nil then fail(at, "duplicate key %s", key) end
        at = skip(s, after)
        if byte(s, at) ~= 58 then fail(at, ": expected; %s", seen(s, at)) end
        object[key], at = read_value(s, skip(s, at + 1), depth)
        at = skip(s, at)
        local c = byte(s, at)
        if c == 125 then return object, at + 1 end
        if c ~= 44 then fail(at, ", or } expected; %s", seen(s, at)) end
        at = skip(s, at + 1)
    end
end

local function read_array(s, at, depth)
    local array = setmetatable({}, ARRAY)
    local n = 0
    at = skip(s, at + 1)
    if byte(s, at) == 93 then return array, at + 1 end
    while true do
        n = n + 1
        array[n], at = read_value(s, at, depth)
        at = skip(s, at)
        local c = byte(s, at)
        if c == 93 then return array, at + 1 end
        if c ~= 44 then fail(at, ", or ] expected; %s", seen(s, at)) end
        at = skip(s, at + 1)
    end
end

local WORD = {["true"] = true, ["false"] = false, null = M.null}

local function read_word(s, at)
    local word = s:match("^%a+", at)
    if word == nil or WORD[word] == nil then
        fail(at, "a value expected; %s", seen(s, at))
    end
    return WORD[word], at + #word
end

function read_value(s, at, depth)
    local c = byte(s, at)
    if c == 34 then return read_string(s, at) end
    if c == 123 or c == 91 then
        if depth == DEEPEST then
            fail(at, "nested deeper than %d", DEEPEST)
        end
        if c == 123 then return read_object(s, at, depth + 1) end
        return read_array(s, at, depth + 1)
    end
    if c == 45 or (c and c >= 48 and c <= 57) then
        return read_number(s, at)
    end
    return read_word(s, at)
end

-- Line and column (in characters) of byte `at`, both from 1.
local function place(s, at)
    local line, start = 1, 1
    while true do
        local newline = find(s, "\n", start, true)
        if not newline or newline >= at then break end
        line, start = line + 1, newline + 1
    end
    local before = sub(s, start, at - 1)
    return line, (utf8.len(before) or #before) + 1
end

local function read_text(s)
    local good, bad = utf8.len(s)
    if not good then fail(bad, "not UTF-8") end
    if sub(s, 1, 3) == "\xEF\xBB\xBF" then
        fail(1, "a byte-order mark is not JSON; remove it")
    end
    local value, at = read_value(s, skip(s, 1), 0)
    at = skip(s, at)
    if at <= #s then fail(at, "nothing may follow the value; %s",
                          seen(s, at)) end
    return value
end

-- The value of a JSON text, or nil and {line=, col=, text=}.
function M.parse(text)
    local ok, value = pcall(read_text, text)
    if ok then return value end
    if type(value) ~= "table" then error(value, 0) end
    local line, col = place(text, value.at)
    return nil, {line = line, col = col, text = value.text}
end

return M
