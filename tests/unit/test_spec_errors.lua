-- test_spec_errors.lua: what lua/spec.lua must refuse in a file, and how.
package.path = "lua/?.lua;tests/unit/?.lua;" .. package.path

local nodes = require "nodes"
local small = require "small_spec"

local ok, m, told = nodes.ok, nodes.m, nodes.told
local load, refuses, with = small.load, small.refuses, small.with
local silu, softmax, composite = small.silu, small.softmax, small.composite
local tiling, census = small.tiling, small.census

-- Ops.
local function op_error(name, changes, ...)
    refuses(name, "s/op/silu.yaml", with(silu, changes), ...)
end
op_error("keyword", {op = "union"}, "union: the word belongs to C;")
op_error("unknown field", {extra = "x"}, "unknown field extra of op")
op_error("doc of lines", {doc = nodes.q "a\nb"}, "one line")
op_error("formula", {formula = "(x"}, "s/op/silu.yaml", "formula")
op_error("no formula", {formula = false}, "lacks formula")
op_error("no limits", {limits = false}, "lacks limits")
op_error("empty limit", {limits = m {"f32", m {}}}, "lacks ulp, abs or l2")
op_error("limit of no output", {limits = m {"f64", m {"ulp", 1}}},
         "unknown output dtype f64", "f16, f32")
op_error("limit below 0", {limits = m {"f32", m {"ulp", -1}}}, "at least 0")
op_error("routed formula", {routes = {m {"variant", "map"}}},
         "elementwise op has no routes")
op_error("family", {family = "softmx"}, "only a family: elementwise")

local function tensor_error(name, x, y, ...)
    op_error(name, {tensors = m {"x", x, "y", y}}, ...)
end
local x = m {"role", "in", "dtype", {"f32"}}
local y = m {"role", "out", "like", "x"}
tensor_error("role", with(x, {role = "inn"}), y, "did you mean in?")
tensor_error("dtype", with(x, {dtype = {"f15"}}), y, "did you mean f16?")
tensor_error("dtype twice", with(x, {dtype = {"f16", "f16"}}), y, "twice")
tensor_error("later dtype", with(x, {dtype = {"y"}}), y, "here or later")
tensor_error("own dtype", with(x, {dtype = {"x"}}), y, "here or later")
tensor_error("no dtype", m {"role", "in"}, y, "x lacks dtype")
tensor_error("like and shape", x, with(y, {shape = "x"}), "beside like")
tensor_error("like who", x, with(y, {like = "q"}), "unknown tensor q")
tensor_error("shape of input", with(x, {shape = "y"}), y, "is free")
tensor_error("shape of optional", with(x, {optional = "true"}), y,
             "is optional")
tensor_error("promote one", x, m {"role", "out", "dtype", "promote(x)"},
             "at least two")
tensor_error("promote who", x, m {"role", "out", "dtype", "promote(x, q)"},
             "unknown tensor q")
tensor_error("promote in a list", x,
             m {"role", "out", "dtype", {"x", "promote(x, x)"}}, "stands alone")
tensor_error("no output", x, with(x, {}), "no tensor has role: out")
tensor_error("two outputs", with(x, {role = "out"}), y, "one output, not 2")
op_error("tensor named as dtype", {tensors = m {"f16", x, "y", y}},
         "f16 is a dtype")
op_error("tensor named as step word", {tensors = m {"when", x, "y", y}},
         "something else in a step")

local function soft_error(name, changes, ...)
    refuses(name, "s/op/softmax.yaml", with(softmax, changes), ...)
end
local function attr_error(name, attr, ...)
    soft_error(name, {attrs = m {"dim", m {"type", "int", "default", -1},
                                 "mode", m {"type", "string", "choices",
                                            {"yes"}, "default", "yes",
                                            "baked", "true"},
                                 "parts", m {"type", "int"}, "a", attr}}, ...)
end
attr_error("attr type", m {"type", "integer"}, "unknown type integer")
attr_error("int default", m {"type", "int", "default", "1e3"}, "write 1000")
attr_error("bool default", m {"type", "bool", "default", "yes"},
           "true or false")
attr_error("choice", m {"type", "string", "choices", {"tanh"}, "default",
                        "tan"}, "did you mean tanh?")
attr_error("no choices", m {"type", "string"}, "lacks choices")
attr_error("choices of int", m {"type", "int", "choices", {"a"}},
           "belong to type string")
attr_error("choices collide", m {"type", "string", "choices",
                                 {"a-b", "a.b"}}, "reads as a_b")
attr_error("tried of bool", m {"type", "bool", "tried", {"true"}},
           "tried belongs to a number that is not baked, and a is of type bool")
attr_error("tried of a baked int", m {"type", "int", "baked", "true", "tried",
                                      {"1"}}, "a is baked")
attr_error("tried value", m {"type", "float", "tried", {"x"}}, "tried[1]")
attr_error("baked float", m {"type", "float", "baked", "true"}, "baked")
soft_error("let is attr", {let = m {"dim", "1", "N", "1"}},
           "dim is already an attribute")
soft_error("axis is tensor", {key = m {"x", "1"}}, "x is already a tensor")
soft_error("no routes", {routes = false}, "lacks routes")
soft_error("no key", {key = false}, "lacks key")
soft_error("unreachable", {routes = {m {"variant", "looped"},
           m {"variant", "single_tile"}}}, "single_tile is never reached")
soft_error("route twice", {routes = {m {"variant", "looped", "when", "N > 1"},
           m {"variant", "looped"}}}, "looped stands twice")
soft_error("variant", {routes = {m {"variant", "loopd"}}},
           "unknown variant loopd", "did you mean looped?",
           "spec/tiling/softmax.yaml")
soft_error("family", {family = "softmx"}, "unknown family softmx",
           "no spec/tiling/softmx.yaml", "did you mean softmax?")
soft_error("lattice tensor", {lattice = m {"shape", m {"z", {"M"}}}},
           "unknown tensor z")
soft_error("lattice attr", {lattice = m {"shape", m {"x", {"M"}}, "attrs",
           m {"dim", {1}}}}, "dim is dynamic")
soft_error("lattice value", {lattice = m {"shape", m {"x", {"M"}}, "attrs",
           m {"mode", {"maybe"}}}}, "unknown mode[1] maybe")

local many = m {}
for i = 1, 9 do
    many[#many + 1] = "t" .. i
    many[#many + 1] = with(x, {role = i == 1 and "out" or "in", shape = {1}})
end
soft_error("nine tensors", {tensors = many}, "at most 8")
soft_error("five axes", {key = m {"A", "1", "B", "1", "C", "1", "D", "1",
                                  "E", "1"}}, "at most 4")

-- Composite ops.
local function route_error(name, changes, ...)
    local r = with(composite[#composite][1], changes)
    refuses(name, "s/op/chunked.yaml", with(composite, {routes = {r}}), ...)
end
local function step_error(name, step, ...)
    route_error(name, {steps = {step}}, ...)
end
local silu_call = m {"op", "silu", "x", "q", "y", "z"}
step_error("unknown op", with(silu_call, {op = "silo"}),
           "unknown op silo", "did you mean silu?")
step_error("argument", m {"op", "silu", "x", "q", "y", "z", "zz", "1"},
           "unknown argument zz of op silu")
step_error("missing tensor", m {"op", "silu", "x", "q"}, "lacks tensor y")
step_error("missing attr", m {"op", "softmax", "x", "q", "y", "z"},
           "lacks attribute parts")
step_error("step formula", m {"op", "silu", "x", "(q", "y", "z"}, "x: ")
step_error("own call", m {"op", "chunked", "q", "q", "z", "z"},
           "op chunked calls itself: chunked, chunked")
step_error("loop text", m {"for", "c in rang(1)", "steps", {silu_call}},
           'for expects "v in range(start, stop, step)"')
step_error("loop arity", m {"for", "c in range(1, 2, 3, 4)", "steps",
                            {silu_call}}, "for expects")
step_error("loop part", m {"for", "c in range(0, (T)", "steps",
                           {silu_call}}, "range: ")
step_error("loop variable", m {"for", "T in range(3)", "steps",
                               {silu_call}}, "T is already a let")
step_error("loop keyword", m {"for", "int in range(3)", "steps",
                              {silu_call}}, "belongs to C;")
local deep = silu_call
for i = 1, 5 do
    deep = m {"for", "c" .. i .. " in range(2)", "steps", {deep}}
end
step_error("five loops", deep, "at most 4 deep")
route_error("temporary is let", {temporaries = m {
    "T", m {"dtype", "f32", "shape", {1}}}}, "T: a name is")
route_error("temporary is attr", {temporaries = m {
    "alpha", m {"dtype", "f32", "shape", {1}}}}, "already an attribute")
route_error("temporary's dtype", {temporaries = m {
    "s", m {"dtype", "f31", "shape", {1}}}}, "unknown dtype or tensor f31")
refuses("composite variant", "s/op/chunked.yaml",
        with(composite, {routes = {m {"variant", "looped"}}}),
        "a composite op has no variants")
local function calling(name, callee)
    return with(composite, {op = name, routes = {m {"name", "r", "steps", {
        m {"op", callee, "q", "q", "z", "z"}}}}})
end
local model, errors = load {["s/op/a.yaml"] = calling("a", "b"),
                            ["s/op/b.yaml"] = calling("b", "a")}
ok("cycle of two", model == nil and #errors == 1
   and told(errors, "op a calls itself: a, b, a"))

-- The rest.
local function ladder_error(name, edges, ...)
    refuses(name, "s/buckets.yaml", m {"ladders", m {"rows", edges}}, ...)
end
ladder_error("descending", {64, 64}, "edge 64 is not above")
ladder_error("zero", {0}, "at least 1")
ladder_error("too wide", {64, 256}, "bucket 65..256 spans more than a "
             .. "factor 2")
ladder_error("one past the factor", {64, 129}, "bucket 65..129")
ladder_error("first too wide", {65}, "bucket 1..65")
ladder_error("empty ladder", {}, "at least 1")
ok("wide below 64", load {["s/buckets.yaml"] =
   m {"ladders", m {"rows", {1, 64, 128}}}})
ladder_error("past int64", {"9223372036854775808"}, "64-bit")
ok("no overflow", load {["s/buckets.yaml"] = m {"ladders", m {"rows",
   {"64", "128"}}}})
refuses("budget", "s/budget.yaml", m {"budget", m {"kernel", 1}},
        "did you mean kernels?")
refuses("tier", "s/tiling/softmax.yaml", with(tiling, {tiers = m {"sm81",
        m {"looped", m {"config", m {"lanes", {8}}}}}}), "unknown tier sm81")
refuses("config twice", "s/tiling/softmax.yaml", with(tiling, {tiers = m {
        "cpu", m {"looped", m {"config", m {"lanes", {8, 8}}}}}}), "twice")
refuses("arch field", "s/arch/cpu.yaml", m {"arch", "cpu", "tier", "cpu",
        "fields", m {"cores", "0x10"}}, "write 16")
refuses("census config", "s/census/small.yaml", with(census, {models = {
        m {"name", "A", "config", "b.json"}}}), "unknown file b.json",
        "did you mean a.json?")
refuses("census path", "s/census/small.yaml", with(census, {models = {
        m {"name", "A", "config", "../a.json"}}}), "of this folder")

-- Whatever stands anywhere, the answer is a model or messages, never a fault.
math.randomseed(2, 8259)
local WORDS = {"", "x", "y", "f16", "true", "0", "-1", "1e9", "N", "(", "op",
               "promote(x, y)", "for", "c in range(2)", "softmax", "\0", "é"}

local function any(depth)
    local kind = depth > 3 and 1 or math.random(4)
    if kind < 3 then
        local word = WORDS[math.random(#WORDS)]
        return kind == 1 and word or nodes.q(word)
    end
    local literal = kind == 3 and {} or m {}
    for i = 1, 2 * math.random(0, 2) do
        literal[i] = kind == 4 and i % 2 == 1 and WORDS[math.random(#WORDS)]
            or any(depth + 1)
    end
    return literal
end

-- A copy in which each part is something else with one chance in `odds`.
local function spoil(literal, odds, is_key)
    if math.random(odds) == 1 then
        return is_key and WORDS[math.random(#WORDS)] or any(1)
    end
    if type(literal) ~= "table" or literal.text then return literal end
    local map = getmetatable(literal)
    local new = setmetatable({}, map)
    for i, part in ipairs(literal) do
        new[i] = spoil(part, odds, map and i % 2 == 1)
    end
    return new
end

local paths = {}
for path, literal in pairs(small.files()) do
    if type(literal) == "table" then paths[#paths + 1] = path end
end
table.sort(paths) -- the same folders in every run
local refused = 0
for i = 1, 1500 do
    local changes = {}
    for _, path in ipairs(paths) do
        changes[path] = spoil(small.files()[path], 20 + i % 100)
    end
    local good, told_of = load(changes)
    assert((good == nil) == (#told_of > 0))
    if not good then refused = refused + 1 end
end
ok("1500 spoilt folders", refused > 1000, refused)
