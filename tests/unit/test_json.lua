-- test_json.lua: lua/json.lua against RFC 8259's own examples and refusals.
package.path = "lua/?.lua;tests/unit/?.lua;" .. package.path

local json = require "json"
local nodes = require "nodes"
local ok = nodes.ok

local function equal(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b and math.type(a) == math.type(b)
    end
    for k, v in pairs(a) do
        if not equal(v, b[k]) then return false end
    end
    for k in pairs(b) do
        if a[k] == nil then return false end
    end
    return true
end

local function reads(name, text, expected)
    local value, why = json.parse(text)
    ok(name, equal(value, expected), why and why.text or value)
end

local function refuses(name, text, line, col, part)
    local value, why = json.parse(text)
    ok(name, value == nil and why.line == line and why.col == col
       and why.text:find(part, 1, true),
       why and string.format("%d:%d: %s", why.line, why.col, why.text))
end

-- RFC 8259, section 13.
reads("rfc image", [[
{"Image": {"Width": 800, "Height": 600, "Title": "View from 15th Floor",
 "Thumbnail": {"Url": "http://www.example.com/image/481989943",
 "Height": 125, "Width": 100}, "Animated": false,
 "IDs": [116, 943, 234, 38793]}}]], {Image = {
    Width = 800, Height = 600, Title = "View from 15th Floor",
    Thumbnail = {Url = "http://www.example.com/image/481989943",
                 Height = 125, Width = 100},
    Animated = false, IDs = {116, 943, 234, 38793}}})
reads("rfc values", '["Hello world!", 42, true]', {"Hello world!", 42, true})
reads("lone string", ' "Hello world!" ', "Hello world!")
reads("lone null", "null", json.null)
ok("false", json.parse("false") == false)

reads("int64 max", "9223372036854775807", math.maxinteger)
reads("int64 min", "-9223372036854775808", math.mininteger)
reads("2^53 + 1", "9007199254740993", 9007199254740993)
reads("past int64", "9223372036854775808", 2.0 ^ 63)
reads("float", "[1.0, -0.5e-1, 1E3, 1e+2]", {1.0, -0.05, 1000.0, 100.0})
reads("g clef", '"\\uD834\\uDD1E"', "\u{1D11E}") -- RFC 8259, section 7
reads("escapes", '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9"',
      '"\\/\b\f\n\r\tA\u{e9}')
reads("utf8 key", '{"\u{e9}": 1}', {["\u{e9}"] = 1})
reads("del is no control", '"\127"', "\127")
ok("array", json.is_array(json.parse "[]"))
ok("object", not json.is_array(json.parse "{}"))

refuses("empty", "", 1, 1, "text ends")
refuses("duplicate", '{"a": 1,\n "a": 2}', 2, 2, "duplicate key a")
refuses("duplicate null", '{"a": null, "a": 2}', 1, 13, "duplicate key a")
refuses("lone high", '"x\\uD834"', 1, 3, "lone surrogate")
refuses("lone low", '"\\uDD1E"', 1, 2, "lone surrogate")
refuses("high high", '"\\uD834\\uD834"', 1, 2, "lone surrogate")
refuses("raw surrogate", '"\xED\xA0\xB4"', 1, 2, "not UTF-8")
refuses("overlong", '"\xC0\x80"', 1, 2, "not UTF-8")
refuses("latin 1", '\n"\xE9"', 2, 2, "not UTF-8")
refuses("bom", "\xEF\xBB\xBF{}", 1, 1, "byte-order mark")
refuses("trailing", "{} x", 1, 4, "nothing may follow")
refuses("trailing comma", "[1,]", 1, 4, "value expected")
refuses("object comma", '{"a": 1,}', 1, 9, "key in quotes")
refuses("bare key", "{a: 1}", 1, 2, "key in quotes")
refuses("comment", "// x", 1, 1, "value expected")
refuses("control", '"a\nb"', 1, 3, "0x0a")
refuses("open string", '["abc', 1, 2, "no closing quote")
refuses("escape", '"\\x"', 1, 2, "unknown escape")
refuses("short u", '"\\u12"', 1, 2, "four")
refuses("zeros", "01", 1, 1, "leading zero")
refuses("minus zero zero", "-01", 1, 1, "leading zero")
refuses("point", "1.", 1, 2, "digit")
refuses("no digit", "-", 1, 1, "digit")
refuses("exponent", "1e", 1, 2, "exponent")
refuses("overflow", "[1e999]", 1, 2, "outside double")
refuses("nan", "NaN", 1, 1, "value expected")
refuses("plus", "+1", 1, 1, "value expected")
refuses("hex", "0x10", 1, 2, "nothing may follow")
refuses("single quotes", "['a']", 1, 2, "value expected")
refuses("column counts characters", '{"\u{e9}\u{e9}" 1}', 1, 7, "expected")

ok("64 deep", json.parse(("["):rep(64) .. ("]"):rep(64)))
refuses("65 deep", ("["):rep(65) .. ("]"):rep(65), 1, 65, "deeper than 64")
refuses("100000 deep", ("["):rep(100000), 1, 65, "deeper than 64")

-- No cut of a good text is good, and none breaks the parser.
local whole = '{"a": [1, -2.5e3, "x\\u00e9"], "b": {"c": null, "d": true}}'
for n = 0, #whole - 1 do
    local value, why = json.parse(whole:sub(1, n))
    assert(value == nil and why.line == 1 and why.col <= n + 1, n)
end
ok("cuts", json.parse(whole))
