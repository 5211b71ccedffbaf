-- Checks lua/template.lua under plain Lua: lua5.4 tests/unit/test_template.lua
package.path = "lua/?.lua;" .. package.path

host = {
    compile = function(chunk, text, env) return load(text, chunk, "t", env) end,
    float = function(x) return string.format("%.17g", x) end,
}

local template = require "template"

local function check(name, text, env, want)
    local got = template.render("t", text, env)
    assert(got == want, string.format("%s: got\n%s", name, got))
    print("ok " .. name)
end

local function check_error(name, text, env, want)
    local ok, why = pcall(template.render, "t", text, env)
    assert(not ok and tostring(why):find(want, 1, true),
           string.format("%s: got %s", name, tostring(why)))
    print("ok " .. name)
end

check("text is kept", "a\n\n  b\n", {}, "a\n\n  b\n")
check("a final newline is added", "a", {}, "a\n")
check("holes", "x${a}y${b}z\n", {a = 1, b = "two"}, "x1ytwoz\n")
check("an expression in a hole", "${a + 1} ${({1, 7})[2]}\n", {a = 1}, "2 7\n")
check("a float goes through the host", "${0.5}\n", {}, "0.5\n")
check("Lua lines", "% for i = 1, 2 do\n  row ${i}\n  % end\nend\n", {},
      "  row 1\n  row 2\nend\n")
check("an empty Lua line", "a\n%\nb\n", {}, "a\nb\n")
check("a percent sign inside text", "a % b\n%x\n", {}, "a % b\n%x\n")
check("lines of a value are indented", "  ${a}\n", {a = "one\ntwo\n\nsix"},
      "  one\n  two\n\n  six\n")
check("an empty hole alone leaves no line", "a\n  ${none}\nb\n", {none = ""},
      "a\nb\n")
check("an empty hole beside text stays", "a ${none}\n", {none = ""}, "a\n")
check("quotes and backslashes", 'printf("\\n", ${a});\n', {a = "x"},
      'printf("\\n", x);\n')
check("a local of a Lua line", "% local n = 2\n${n}\n", {}, "2\n")

check_error("unknown name", "a\n${nothing}\n", {}, "t:2: unknown name nothing")
check_error("syntax", "a\nb\n% for\nc\n", {}, "t:")
check_error("a table in a hole", "a\n\n${{}}\n", {}, "t:3: a hole is table")
check_error("an error of Lua", "a\n% error('no')\n", {error = error},
            "t:2: no")
