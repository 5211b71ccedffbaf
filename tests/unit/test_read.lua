-- test_read.lua: scalars by type, collections and messages of lua/read.lua,
-- and nearest names of lua/edit.lua.
package.path = "lua/?.lua;tests/unit/?.lua;" .. package.path

local nodes = require "nodes"
local ok, q, m, told = nodes.ok, nodes.q, nodes.m, nodes.told
local errors = nodes.install()
local edit = require "edit"
local read = require "read"

local function clear()
    for i = #errors, 1, -1 do errors[i] = nil end
end

local function value_of(spec, literal)
    clear()
    return read.value(nodes.node(literal), spec, "f")
end

local function reads(spec, literal, expected)
    local got = value_of(spec, literal)
    local name = spec .. " " .. tostring(literal.text or literal)
    ok(name, got == expected and math.type(got) == math.type(expected)
       and #errors == 0, errors[1] or got)
end

-- hint: what the message must offer, or nil.
local function refuses(spec, literal, hint)
    local got = value_of(spec, literal)
    local name = spec .. " refuses "
        .. tostring(literal.text or literal):sub(1, 30)
    ok(name, got == nil and #errors == 1 and told(errors, hint or "f"),
       errors[1] or got)
end

-- Strings keep what others would read as bool, number or date.
for _, text in ipairs {"no", "1.10", "007", "on", "12:30:45", "2024-01-01"} do
    reads("string", text, text)
end
reads("string", q "", "")
reads("string", q "null", "null")
refuses("string", "", 'an empty text is ""')
refuses("string", "null", 'write "null"')
refuses("string", "~")
refuses("string", {1}, "not a list")
refuses("line", q "a\nb", "one line")

for _, text in ipairs {"0", "-1", "2147483648", "9007199254740993",
                       "8421999999999995999", "9223372036854775807",
                       "-9223372036854775808"} do
    reads("int", text, math.tointeger(text))
end
-- The values of YAML 1.1's and 1.2's own type pages.
refuses("int", "0x10", "write 16")
refuses("int", "010", "write 10 (or 8, if octal was meant)")
refuses("int", "089", "write 89")
refuses("int", "0o14", "write 12")
refuses("int", "0b1010", "write 10")
refuses("int", "1_000", "write 1000")
refuses("int", "190:20:30", "write 685230")
refuses("int", "+5", "write 5")
refuses("int", "1e3", "write 1000")
refuses("int", "1.0", "write 1")
refuses("int", "1.5", "an integer, not 1.5")
refuses("int", "yes")
refuses("int", "")
refuses("int", "9223372036854775808", "64-bit")
refuses("int", "1e999")
refuses("int", q "12", "write 12 without quotes")

reads("float", "1e-5", 0.00001)
reads("float", "1e3", 1000.0)
reads("float", "1", 1.0)
reads("float", "-0.5", -0.5)
reads("float", ".5", 0.5)
reads("float", ".inf", math.huge)
reads("float", "-.inf", -math.huge)
local nan = value_of("float", ".nan")
ok("float .nan", nan ~= nan and #errors == 0)
refuses("float", "inf", "write .inf")
refuses("float", "NaN", "write .nan")
refuses("float", "1e999", "a double holds")
refuses("float", "1e-999", "a double holds")
refuses("float", "1_000.5", "write 1000.5")
refuses("float", "010")
refuses("float", "0x10", "write 16")
refuses("float", "1e5x")
refuses("float", q "1.5", "without quotes")

reads("bool", "true", true)
reads("bool", "false", false)
for _, text in ipairs {"yes", "on", "y", "True", "TRUE"} do
    refuses("bool", text, "f expects true or false, not " .. text
            .. "; write true")
end
for _, text in ipairs {"no", "off", "n", "False"} do
    refuses("bool", text, "write false")
end
refuses("bool", "1", "true or false")
refuses("bool", q "true", "without quotes")

reads("name", "log_softmax", "log_softmax")
reads("name", ("a"):rep(40), ("a"):rep(40))
refuses("name", ("a"):rep(41), "at most 40")
refuses("name", ("a"):rep(300), "at most 40")
refuses("name", q "", "a name is")
refuses("name", "3d_conv", "write d_conv")
refuses("name", "__x", "write x")
refuses("name", "a-b", "write a_b")
refuses("name", "Relu", "write relu")
refuses("name", "int", "belongs to C;")
refuses("name", "default", "belongs to C;")
refuses("name", "template", "belongs to C++")
refuses("name", "half", "belongs to CUDA")
reads("symbol", "N", "N")
refuses("symbol", "N-1", "write N_1")

local function enum(literal)
    return value_of({kind = "enum", names = {"in", "out", "inout"}}, literal)
end
ok("enum", enum("out") == "out")
ok("enum near", enum("inuot") == nil
   and told(errors, "unknown f inuot; did you mean inout?",
            "(allowed: in, out, inout)"))
ok("int range", value_of({kind = "int", min = 1}, "0") == nil
   and told(errors, "at least 1"))

local expr = value_of("expr", "1 + N")
ok("expr", expr.text == "1 + N" and expr.node.line == 1 and expr.ast)
ok("expr of a literal", value_of("expr", "true").text == "true")
ok("expr fault", value_of("expr", "(1 + ") == nil and #errors == 1)
ok("expr of a list", value_of("expr", {1}) == nil
   and told(errors, "an expression, not a list"))

local ints = {kind = "list", of = "int", min = 1}
local list = value_of(ints, {1, 2, 3})
ok("list", #list == 3 and list[3] == 3 and list.at[3].text == "3")
list = value_of(ints, {1, "x", "010", 4})
ok("list tells all", #list == 2 and #errors == 2
   and told(errors, "f[2]") and told(errors, "f[3]"))
value_of(ints, {})
ok("empty list", told(errors, "at least 1"))
value_of(ints, 1)
ok("no list", told(errors, "f expects a list [...], not 1"))
list = value_of({kind = "list", of = "expr"}, {"4", "max(a", "min(b", "2))"})
ok("cut item", #list == 1 and #errors == 1
   and told(errors, '"max(a, min(b, 2))"'))
list = value_of({kind = "one_or_list", of = "string"}, "f16")
ok("one", #list == 1 and list[1] == "f16" and list.at[1].text == "f16")

local map = value_of({kind = "map", of = "int"}, m {"b", 1, "a", 2})
ok("map keeps order", map[1].name == "b" and map[1].value == 1
   and map[2].name == "a" and map[2].node.text == "a")
map = value_of({kind = "map", of = "string", key = "string"},
               m {"on", 1, "off", 2})
ok("map keys stay text", map[1].name == "on" and map[2].name == "off")
value_of({kind = "map", of = "expr", key = "symbol"},
         m {"M", "bucket(rows", "M)", "", "N", "2"})
ok("cut entry", #errors == 1 and told(errors, '"bucket(rows, M)"'))
value_of({kind = "map", of = "expr"}, m {"a", "", "b", "2"})
ok("key without a value", #errors == 1
   and told(errors, 'a has no value; write a: "..."'))

local record = {kind = "record", fields = {
    {"role", "name", required = true}, {"causal", "bool"},
    {"number", "int"},
}}
local got = value_of(record, m {"role", "x", "causal", "false"})
ok("record", got.role == "x" and got.causal == false and got.number == nil
   and got.at.causal.text == "false")
value_of(record, m {"casual", "true", "number", "1_0"})
ok("record tells all", #errors == 3
   and told(errors, "unknown field casual of f; did you mean causal?",
            "role, causal, number")
   and told(errors, "number expects an integer, not 1_0; write 10")
   and told(errors, "f lacks role"), table.concat(errors, "\n"))
value_of(record, {1})
ok("record of a list", told(errors, "a mapping with role, causal, number"))
local open = {kind = "record", fields = {{"op", "name"}}, rest = "expr"}
got = value_of(open, m {"op", "bmm", "a", "x", "alpha", "2"})
ok("rest", got.op == "bmm" and #got.rest == 2 and got.rest[2].name == "alpha"
   and got.rest[2].value.text == "2")
clear()
read.check_order(nodes.node(m {"number", 1, "role", "x"}), record)
ok("order", told(errors, "role stands after number"))

-- Columns of an expression's errors.
local diag = require "diag"
local function column(node)
    clear()
    node.path, node.line, node.col = "p", 7, 10
    diag.in_expr(node, 3, "here")
    return errors[1]
end
ok("plain column", column {text = "a+b", plain = true} == "p:7:12: here")
ok("quoted column", column {text = "a+b", plain = false} == "p:7:13: here")
ok("folded column", column {text = "a+b", plain = false, block = true}
   == "p:7:10: here")
ok("plain lines", column {text = "a+b", plain = true, end_line = 8}
   == "p:7:10: here")
ok("percent in text", pcall(diag.unknown, nodes.node "x", "op", "100%d", {}))

-- Distances by the textbook: kitten to sitting 3, a swap 1.
ok("kitten", edit.distance("kitten", "sitting") == 3)
ok("swap", edit.distance("softmxa", "softmax") == 1)
ok("empty", edit.distance("", "abc") == 3)
ok("near", edit.near("sofmax", {"silu", "softmax"}) == "softmax")
ok("case", edit.near("F16", {"bf16", "f16"}) == "f16")
ok("far", edit.near("relu", {"softmax", "where"}) == nil)
ok("long", edit.near(("x"):rep(100000), {"x"}) == nil)
