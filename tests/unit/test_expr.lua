-- test_expr.lua: the parser and the compiler of expressions.
-- Run from the top folder; one line a check, non-zero exit on failure.

package.path = "lua/?.lua;" .. package.path

local expr = require "expr"
local compile = require("expr_compile").compile

local failed = 0

local function check(name, ok, detail)
    if ok then
        print("ok " .. name)
    else
        failed = failed + 1
        print("FAILED " .. name .. ": " .. tostring(detail))
    end
end

-- A tree as nested parentheses, operators first.
local function show(n)
    if n.kind == "number" then
        return (n.float and "%.17g~" or "%d"):format(n.value)
    elseif n.kind == "string" then
        return '"' .. n.value .. '"'
    elseif n.kind == "bool" then
        return tostring(n.value)
    elseif n.kind == "name" then
        return n.name
    elseif n.kind == "arch" then
        return "arch." .. n.name
    end
    local parts = {n.op or n.kind}
    local function add(...)
        for _, item in ipairs({...}) do
            parts[#parts + 1] = type(item) == "table" and show(item) or item
        end
    end
    if n.kind == "let" then
        add(n.name, n.params and "[" .. table.concat(n.params, " ") .. "]"
            or "=", n.value, n.body)
    elseif n.kind == "call" then
        add(n.name, table.unpack(n.args))
    elseif n.kind == "list" then
        add(table.unpack(n.items))
    elseif n.kind == "if" then
        add(n.cond, n.yes, n.no)
    elseif n.kind == "match" then
        for _, arm in ipairs(n.arms) do add(arm.cond, arm.value) end
        if n.default then add("else", n.default) end
    else
        add(n.a, n.b)
    end
    return "(" .. table.concat(parts, " ") .. ")"
end

--- Trees

local TREES = {
    {"1 + 2 * 3", "(+ 1 (* 2 3))"},
    {"1 - 2 - 3", "(- (- 1 2) 3)"},
    {"a // b % c / d", "(/ (% (// a b) c) d)"},
    {"-a * b", "(* (- a) b)"},
    {"a * -b", "(* a (- b))"},
    {"- 5 + 1", "(+ -5 1)"},
    {"--5", "(- -5)"},
    {"not a == b and c or d", "(or (and (not (== a b)) c) d)"},
    {"not not a", "(not (not a))"},
    {"a or b and c", "(or a (and b c))"},
    {"a + 1 < b * 2", "(< (+ a 1) (* b 2))"},
    {"(a < b) == (b < c)", "(== (< a b) (< b c))"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775807", "9223372036854775807"},
    {"1.5 + 1e-5 + 1.0e-05", "(+ (+ 1.5~ 1.0000000000000001e-05~) "
        .. "1.0000000000000001e-05~)"},
    {"-0.0", "-0~"},
    {"if a then b else if c then d else e", "(if a b (if c d e))"},
    {"if a then if b then c else d else e", "(if a (if b c d) e)"},
    {"let x = 1 in let y = x in y", "(let x = 1 (let y = x y))"},
    {"let f(a, b) = a in f(1, 2)", "(let f [a b] a (call f 1 2))"},
    {"let f() = 1 in f()", "(let f [] 1 (call f))"},
    {"match {a: 1, b: 2, else: 3}", "(match a 1 b 2 else 3)"},
    {"match {a: 1, b: 2,}", "(match a 1 b 2)"},
    {"arch.row_tile + arch.x", "(+ arch.row_tile arch.x)"},
    {"view(x, [B * H, 1])", "(call view x (list (* B H) 1))"},
    {"f(1, [], 2,)", "(call f 1 (list) 2)"},
    {'mode == "tanh"', '(== mode "tanh")'},
    {"\n a\t+\r\n b ", "(+ a b)"},
}

for _, case in ipairs(TREES) do
    local tree, why = expr.parse(case[1])
    local got = tree and show(tree) or why.at .. ": " .. why.text
    check("parse " .. case[1]:gsub("%s+", " "), got == case[2], got)
end

local marked = expr.parse("abc + f(x, -y)")
check("marks", marked.at == 5 and marked.a.at == 1 and marked.b.at == 7
      and marked.b.args[1].at == 9 and marked.b.args[2].at == 12
      and marked.b.args[2].a.at == 13)

--- What the parser refuses

local WRONG = {
    {"", 1, "expected a value, not the end"},
    {"a < b < c", 7, "comparisons do not chain: write a < b and b < c"},
    {"a == b", nil},
    {"9223372036854775808", 1, "9223372036854775808 is outside int64"},
    {"-9223372036854775809", 2, "-9223372036854775809 is outside int64"},
    {"-(9223372036854775808)", 3, "9223372036854775808 is outside int64"},
    {"1.", 3, "a digit is missing after the point: write 1.0"},
    {".5", 1, "a digit is missing before the point: write 0.5"},
    {"1e", 3, "a digit is missing after e"},
    {"1e999", 1, "1e999 is outside the range of a double"},
    {"1e-999", 1, "1e-999 is too small for a double"},
    {"0.0e-999", nil},
    {"007", 1, "a number does not start with 0: write 7"},
    {"0x10", 2, "0x is not a number"},
    {"1_000", 2, "1_ is not a number"},
    {"12ab", 3, "12a is not a number"},
    {"1.5.2", 4, "1.5. is not a number"},
    {"a = b", 3, "expected the end, not '='; to compare, write =="},
    {"a && b", 3, "unexpected &&: write and"},
    {"!a", 1, "unexpected !: write not"},
    {"a ** b", 3, "unexpected **: there is no power"},
    {"'a'", 1, "unexpected ': strings stand in double quotes"},
    {'"a', 1, "the string has no end"},
    {'"a\\n"', 3, "a string has no escapes"},
    {"a # b", 3, "unexpected #"},
    {"a\1", 2, "byte 1 is not allowed"},
    {"a + \195\169", 5, "only ASCII is allowed in an expression"},
    {"1 + if a then b else c", 5,
     "expected a value, not 'if'; put it in parentheses"},
    {"1 + not a", 5, "expected a value, not 'not'; put it in parentheses"},
    {"if a then b", 12, "expected 'else', not the end"},
    {"let if = 1 in 2", 5, "expected a name, not 'if'; put it in parentheses"},
    {"let f(a, a) = 1 in 2", 10, "the parameter a is there twice"},
    {"[1]", 1,
     "expected a value, not '['; a list is allowed as an argument only"},
    {"f([[1]])", 4,
     "expected a value, not '['; a list is allowed as an argument only"},
    {"match {}", 1, "match has no arm: write match {condition: value, ...}"},
    {"match {else: 1, a: 2}", 17, "expected '}', not 'a'"},
    {"(a", 3, "expected ')', not the end"},
    {"a b", 3, "expected the end, not 'b'"},
    {"arch", 5, "expected '.', not the end"},
    {"arch.if", 6, nil},
    {("("):rep(5000), 4097, nil},
    {("("):rep(300), 201, "the expression is nested deeper than 200"},
    {("-"):rep(300) .. "a", nil, nil, true},
    {("not "):rep(300) .. "a", nil, nil, true},
    {("1+"):rep(300) .. "1", nil, nil, true},
    {("[" ):rep(300), 1, nil},
}

for _, case in ipairs(WRONG) do
    local tree, why = expr.parse(case[1])
    local name = "refuse " .. case[1]:sub(1, 30):gsub("[^ -~]", "?")
    if case[2] or case[4] then
        check(name, not tree and (not case[2] or why.at == case[2])
              and (not case[3] or why.text == case[3]),
              why and why.at .. ": " .. why.text)
    else
        check("allow " .. case[1], tree, why and why.text)
    end
end

--- Code

local SCOPE = {
    lets = {N = 0, M = 1},
    attrs = {
        dim = {index = 0, type = "int"}, log = {index = 1, type = "bool"},
        mode = {index = 2, type = "string", choices = {"none", "tanh"}},
        eps = {index = 3, type = "float"},
    },
    tensors = {x = 0, mask = 1}, loops = {chunk = 0},
    arch = {row_tile = 0, cluster = 1}, config = {lanes = 0},
    ladders = {rows = 0, cols = 1},
    constants = {batch = 8, half = 0.5, fast = true},
}

local function code_text(code)
    local out = {}
    for i, ins in ipairs(code) do
        local text = ins.op
        if ins.argc > 0 then text = text .. "/" .. ins.argc end
        if ins.i ~= 0 then text = text .. " " .. ins.i end
        if ins.f ~= 0 then text = text .. " " .. ins.f end
        out[i] = text
    end
    return table.concat(out, "; ")
end

local CODE = {
    {"N <= arch.row_tile", "LET; ARCH; LE", "bool"},
    {"numel(x) // N", "TENSOR; NUMEL/1; LET; FLOORDIV", "int"},
    {"size(x, dim)", "TENSOR; ATTR; SIZE/2", "int"},
    {"arch.cluster > 0 and N < 5",
     "ARCH 1; INT; GT; AND 4; LET; INT 5; LT; BOOLEAN", "bool"},
    {"if log then 1 else 2.5",
     "ATTR 1; JUMP_FALSE 2; INT 1; JUMP 1; FLOAT 2.5", "number"},
    {"match {log: 1, N == 2: 3}", "ATTR 1; JUMP_FALSE 2; INT 1; JUMP 7; "
        .. "LET; INT 2; EQ; JUMP_FALSE 2; INT 3; JUMP 1; FAIL", "int"},
    {"match {log: 1, else: 2}",
     "ATTR 1; JUMP_FALSE 2; INT 1; JUMP 1; INT 2", "int"},
    {'mode == "tanh"', "ATTR 2; INT 1; EQ", "bool"},
    {'"none" != mode', "ATTR 2; INT; NE", "bool"},
    {'let m = mode in m == "tanh"', "ATTR 2; INT 1; EQ", "bool"},
    {"mode", "ATTR 2", "string"},
    {"bucket(cols, N)", "LET; BUCKET/1 1", "int"},
    {"view(x, [N, 2])", "TENSOR; LET; INT 2; VIEW/3", "tensor"},
    {"view(x, N, 2)", "TENSOR; LET; INT 2; VIEW/3", "tensor"},
    {"view(x, [])", "TENSOR; VIEW/1", "tensor"},
    {"transpose(x)", "TENSOR; TRANSPOSE/1", "tensor"},
    {"dtype(x) == f16", "TENSOR; DTYPE/1; INT 7; EQ", "bool"},
    {"min(1, 2.5, lanes)", "INT 1; FLOAT 2.5; CONFIG; MIN/3", "number"},
    {"batch * half", "INT 8; FLOAT 0.5; MUL", "float"},
    {"fast", "BOOL 1", "bool"},
    {"let a = N + 1 in a * a",
     "LET; INT 1; ADD; LET; INT 1; ADD; MUL", "number"},
    {"let a = 1 // 0 in 7", "INT 7", "int"},
    {"let N = N + 1 in N", "LET; INT 1; ADD", "number"},
    {"let f(a) = a + N in let N = 3 in f(N)", "INT 3; LET; ADD", "number"},
    {"let f(t) = size(t, 0) in f(x)", "TENSOR; INT; SIZE/2", "int"},
    {"chunk", "LOOP", "int"},
    {"-9223372036854775808", "INT -9223372036854775808", "int"},
    {"- N", "LET; NEG", "number"},
    {"present(mask)", "TENSOR 1; PRESENT/1", "bool"},
}

for _, case in ipairs(CODE) do
    local made, why = compile(case[1], SCOPE)
    local got = made and code_text(made.code) or why.at .. ": " .. why.text
    check("compile " .. case[1], got == case[2], got)
    check("type of " .. case[1], made and made.type == case[3],
          made and made.type)
end

check("text", compile("  N\n  <=\t4 ", SCOPE).text == "N <= 4")
check("no scope", compile("1 + 1").code[3].op == "ADD")

--- What the compiler refuses

local REFUSED = {
    {"row_tlie + 1", 1, "unknown name row_tlie"},
    {"bacth", 1, "unknown name bacth; did you mean batch?"},
    {"row_tile", 1, "row_tile is a field of the arch profile: write "
        .. "arch.row_tile"},
    {"arch.row_tlie", 1,
     "unknown field arch.row_tlie; did you mean row_tile?"},
    {"bukcet(rows, 1)", 1, "unknown function bukcet; did you mean bucket?"},
    {"rows + 1", 1, "rows is a ladder: write bucket(rows, v)"},
    {"bucket(row, 1)", 8,
     "bucket needs the name of a ladder; did you mean rows?"},
    {"bucket(rows)", 1,
     "bucket takes a ladder and a size: bucket(ladder, v)"},
    {"1 + true", 5, "+ needs a number, not a bool"},
    {"true < 1", 1, "< needs a number, not a bool"},
    {"1 == true", 1, "== with a bool needs a bool, not an int"},
    {"if 1 then 2 else 3", 4, "if needs a bool, not an int"},
    {"if log then 2 else true", 20,
     "one branch gives an int, another a bool"},
    {"match {1: 2}", 8, "an arm of match needs a bool, not an int"},
    {"not 1", 5, "not needs a bool, not an int"},
    {"log and N + 1", 11, "and needs a bool, not a number"},
    {"1.5 // 2", 1, "// needs an int, not a float"},
    {"size(N, 0) + size(1, 0)", 19, "size needs a tensor, not an int"},
    {"size(x)", 1, "size has 1 arguments; write size(tensor, dim)"},
    {"transpose(x, 1)", 1, "transpose has 2 arguments; write "
        .. "transpose(tensor) or transpose(tensor, d0, d1)"},
    {"min()", 1, "min has 0 arguments; write min(a, b, ...)"},
    {"x + 1", 1, "+ needs a number, not a tensor"},
    {"cdiv(1.0, 2)", 6, "cdiv needs an int, not a float"},
    {'mode == "tahn"', 9,
     '"tahn" is not a choice of the attribute: none, tanh'},
    {'dim == "a"', 8,
     "a string can only be compared with a string attribute"},
    {'"a"', 1,
     "a string can only be compared with an attribute by == or !="},
    {"mode == 1", 6, "compare a string attribute with one of its choices in "
        .. "double quotes"},
    {"mode + 1", 1, "+ needs a number, not a string"},
    {"let min(a) = a in min(1)", 1, "min is built in: choose another name"},
    {"let f(n) = f(n - 1) in f(3)", 12,
     "f calls itself: recursion is refused"},
    {"let f(n) = n + true in 1", 16, "+ needs a number, not a bool"},
    {"let f(n) = n in f(1, 2)", 17, "f takes 1 arguments (n), not 2"},
    {"let f(n) = n in f", 17, "f is a function: write f(...)"},
    {"let a = 1 in a(2)", 14, "a is not a function"},
    {"let f(n) = n in f([1, 2])", 19,
     "a list is allowed as an argument of a built-in call only"},
    {"promote(x, mask)", 1, "unknown function promote"},
}

for _, case in ipairs(REFUSED) do
    local made, why = compile(case[1], SCOPE)
    local ok = not made and why.at == case[2]
        and why.text:sub(1, #case[3]) == case[3]
    check("refuse " .. case[1], ok, why and why.at .. ": " .. why.text)
end

--- Choices, functions of the scope, and growth

local choices = {attrs = SCOPE.attrs, choices = {"a", "b"}}
check("choice", code_text(compile('if log then "b" else "a"', choices).code)
      == "ATTR 1; JUMP_FALSE 2; INT 1; JUMP 1; INT")
check("not a choice", compile('"c"', choices) == nil)
check("other choices", compile("mode", choices) == nil)
check("same choices", compile("mode", {attrs = SCOPE.attrs,
                                       choices = {"none", "tanh"}}))

local functions = {
    twice = {params = {"a"}, body = expr.parse("a + a")},
    four = {params = {"b"}, body = expr.parse("twice(twice(b))")},
    loop = {params = {"b"}, body = expr.parse("pool(b)")},
    pool = {params = {"b"}, body = expr.parse("loop(b)")},
    wrong = {params = {}, body = expr.parse("1000 + true")},
}
local scope = {functions = functions, lets = {N = 0}}
check("function", code_text(compile("four(N)", scope).code)
      == "LET; LET; ADD; LET; LET; ADD; ADD")
local _, why = compile("1 + loop(N)", scope)
check("recursion", why.at == 5
      and why.text == "loop calls itself: recursion is refused", why.text)
_, why = compile("1 + wrong()", scope)
check("place in a function", why.at == 5, why.at)

local chain = {}
for i = 1, 40 do
    chain[i] = ("let a%d = a%d + a%d in "):format(i, i - 1, i - 1)
end
local text = "let a0 = 1 in " .. table.concat(chain)
_, why = compile(text .. "a40", {})
check("growth", why and why.text:find("grows past 4096", 1, true), why)
chain = {"let f0(x) = 1 in "}
for i = 1, 60 do
    chain[#chain + 1] = ("let f%d(x) = f%d(f%d(x)) in "):format(i, i - 1,
                                                                i - 1)
end
_, why = compile(table.concat(chain) .. "f60(1)", {})
check("growth without code", why and why.text:find("grows past", 1, true),
      why)
_, why = compile(("1+("):rep(70) .. "1" .. (")"):rep(70), {})
check("stack", why and why.text
      == "the expression holds more than 64 values at once", why)
check("stack in full", compile(("1+("):rep(63) .. "1" .. (")"):rep(63), {}))


if failed > 0 then
    print(failed .. " failed")
    os.exit(1)
end
