-- Checks lua/formula.lua under plain Lua: lua5.4 tests/unit/test_formula.lua
package.path = "lua/?.lua;" .. package.path

host = {
    float = function(x)
        for digits = 1, 17 do
            local text = string.format("%." .. digits .. "g", x)
            if tonumber(text) == x then
                return text:find("[.e]") and text or text .. ".0"
            end
        end
    end,
}

local expr = require "expr"
local formula = require "formula"

local NAMES = {x = "x", a = "a", b = "b", cond = "cond"}

local function emit(text, more)
    local options = {type = "float", names = NAMES, bools = {cond = true}}
    for k, v in pairs(more or {}) do options[k] = v end
    return formula.emit(assert(expr.parse(text)), options)
end

-- want: constants, lines and result, joined by a blank.
local function check(text, want, more)
    local r, why = emit(text, more)
    assert(r, text .. ": " .. (why and why.text or ""))
    local all = {}
    for _, line in ipairs(r.constants) do all[#all + 1] = line end
    for _, line in ipairs(r.lines) do all[#all + 1] = line end
    all[#all + 1] = r.result
    local got = table.concat(all, " ")
    assert(got == want, string.format("%s\n  got  %s\n  want %s", text, got,
                                      want))
    print("ok " .. text)
end

local function check_error(text, at, want)
    local r, why = emit(text)
    assert(not r and why.at == at and why.text:find(want, 1, true),
           string.format("%s: %s at %s", text, why and why.text,
                         why and why.at))
    print("ok error of " .. text)
end

local function equal(name, got, want)
    assert(got == want, string.format("%s: %s, not %s", name, got, want))
    print("ok " .. name)
end

-- Order and parentheses: C must associate as the formula does.
check("x", "x")
check("a - b - x", "a - b - x")
check("a - (b - x)", "a - (b - x)")
check("a + (b + x)", "a + (b + x)")
check("a / b / x", "a / b / x")
check("a / (b * x)", "a / (b * x)")
check("(a + b) * x", "(a + b) * x")
check("-(a + b)", "-(a + b)")
check("-(-x)", "-(-x)")
check("x / (1 + exp(-x))", "x / (1.0f + kiln_exp_f32(-x))")
check("x / (1 + exp(-x))", "x / (1.0 + kiln_exp_f64(-x))", {type = "double"})

-- Constants have names, 0 and 1 are written out.
check("0.5 * x", "const float half = 0.5f; half * x")
check("-2 * x", "const float two = 2.0f; -two * x")
check("3 * x - 0.1 + 3",
      "const float coef_1 = 3.0f; const float coef_2 = 0.1f; "
      .. "kiln_mad_f32(coef_1, x, -coef_2) + coef_1")
check("max(x, 0)", "kiln_max_f32(x, 0.0f)")

-- Sums with a product.
check("a + b * x", "kiln_mad_f32(b, x, a)")
check("a * b + x", "kiln_mad_f32(a, b, x)")
check("a - b * x", "kiln_mad_f32(-b, x, a)")
check("a * b - x", "kiln_mad_f32(a, b, -x)")
check("a * b + x * x", "kiln_mad_f32(x, x, a * b)")
check("a - -2 * x", "const float two = 2.0f; kiln_mad_f32(two, x, a)")

-- Conditions.
check("if cond then a else b", "cond != 0 ? a : b")
check("if not cond then a else b", "!(cond != 0) ? a : b")
check("if x > 0 and x < 1 or cond then a else b",
      "(x > 0.0f && x < 1.0f) || cond != 0 ? a : b")
check("match {x > 1: a, x < 0: b, else: x}",
      "x > 1.0f ? a : x < 0.0f ? b : x")
check("(if x > 1 then a else b) + 1", "(x > 1.0f ? a : b) + 1.0f")

-- Lets and functions.
check("let t = x + 1 in t * t", "const float t = x + 1.0f; t * t")
check("let x = x + 1 in x", "const float x_2 = x + 1.0f; x_2")
check("let float = x + 1 in float", "const float float_ = x + 1.0f; float_")
check("let f(v) = v * v in f(x + 1)",
      "const float f_v = x + 1.0f; f_v * f_v")
check("let k = a in let f(v) = v + k in let k = b in f(x)",
      "const float k = a; const float k_2 = b; x + k")
check("let big = x > 1 in if big then a else b",
      "const int big = x > 1.0f; big != 0 ? a : b")

-- Baked and dynamic attributes.
local gelu = [[if approximate == "tanh" then tanh(x) else erfc(x)]]
check(gelu, "kiln_tanh_f32(x)", {baked = {approximate = "tanh"}})
check(gelu, "kiln_erfc_f32(x)", {baked = {approximate = "none"}})
check("if log and cond then a else b", "cond != 0 ? a : b",
      {baked = {log = true}})
check("if log and cond then a else b", "b", {baked = {log = false}})
check("a + alpha * b", "kiln_mad_f32(alpha, b, a)",
      {dynamic = {alpha = "alpha"}})
check("scale * x", "const float scale = 3.5f; scale * x",
      {baked = {scale = 3.5}})

-- Calls.
check("clamp(x, 0, 1)", "kiln_clamp_f32(x, 0.0f, 1.0f)")
check("min(a, b, x)", "kiln_min_f32(kiln_min_f32(a, b), x)")
check("fma(a, b, x)", "kiln_fma_f32(a, b, x)")
check("fma(a, -b, x + 1)", "kiln_fma_f64(a, -b, x + 1.0)", {type = "double"})

check_error("x + y", 5, "unknown name y")
check_error("x + expp(x)", 5, "unknown function expp; did you mean exp?")
check_error("exp(x, a)", 1, "exp takes 1 argument, not 2")
check_error("fma(x, a)", 1, "fma takes 3 arguments, not 2")
check_error("max(x)", 1, "max takes at least 2 arguments, not 1")
check_error("x // 2", 3, "// has no meaning in a formula")
check_error("cond + x", 1, "a number is wanted here, not a condition")
check_error("if x then a else b", 4, "a condition is wanted here")
check_error('if "a" == x then a else b', 8, "cannot compare")
check_error("let f(v) = f(v) in f(x)", 12, "unknown function f")
check_error("let f(v) = v in f", 17, "f is a function")
check_error("match {x > 1: a}", 1, "needs an else arm")
check_error("arch.cores", 1, "arch.cores is not for formulas")

local r = emit("x / (1 + exp(-x))")
equal("operations", r.ops, 4)
equal("functions", table.concat(r.functions, " "), "kiln_exp_f32")
equal("a fused pair counts twice", emit("a + b * x").ops, 2)
equal("fma counts twice", emit("fma(a, b, x)").ops, 2)
equal("count of fma", formula.count(expr.parse("fma(a, b, x) + x")), 3)
equal("count", formula.count(expr.parse(
    "if x > 0 then exp(x) + 1 else let t = x in t * t * t")), 3)
equal("c_name", formula.c_name("while") .. formula.c_name("x"), "while_x")
