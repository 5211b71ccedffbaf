-- test_spec.lua: lua/spec.lua on a small spec folder: the model it returns,
-- overlays, and what is wrong with files. The folders of tests/unit/specs hold
-- much the same as YAML.
package.path = "lua/?.lua;tests/unit/?.lua;" .. package.path

local nodes = require "nodes"
local small = require "small_spec"

local ok, m, told = nodes.ok, nodes.m, nodes.told
local load, refuses, with = small.load, small.refuses, small.with
local silu, tiling = small.silu, small.tiling

local model, errors = load(nil, {"s/"}, {order = true})
ok("loads", model, table.concat(errors, "\n"))
ok("sorted", #model.ops == 3 and model.ops[1].name == "chunked"
   and model.ops[3].name == "softmax" and model.op.silu == model.ops[2])

local op = model.op.softmax
ok("place", op.spec == "spec/op/softmax.yaml" and op.root == "s"
   and op.path == "s/op/softmax.yaml")
ok("tensors", op.tensors[1].keyed and op.tensors[2].keyed
   and op.tensors[2].shape.tensor == "x" and op.tensors[2].like[1] == "x"
   and op.tensors[2].dtypes[1] == "f32" and op.tensors[1].shape == nil)
local a = op.attrs
ok("attrs", a[1].default == -1 and a[2].default == false and a[2].baked
   and math.type(a[3].default) == "float" and a[4].default == "no"
   and a[4].choices[2] == "yes" and not a[4].required and a[5].required)
ok("lets", op.lets[1].name == "N" and op.lets[2].text == "numel(x) // N")
ok("routes", op.routes[1].variant == "single_tile"
   and op.routes[1].when.text == "N <= 64" and op.routes[2].when == nil)
ok("key", op.key[1].axis == "M" and op.key[2].text == "bucket(cols, N)")
ok("lattice", op.lattice.shape[1].tensor == "x"
   and op.lattice.shape[1].exprs[2].text == "N"
   and op.lattice.attrs[1].values[1] == "yes"
   and op.lattice.within.text == "M * N <= 4096")
ok("limits", op.limits[1].dtype == "f16" and op.limits[1].ulp == 1
   and op.limits[1].l2 == 0.001 and op.limits[2].abs == 0.5)
ok("formula", model.op.silu.formula.ast
   and model.op.silu.tensors[2].shape.tensor == "x")

op = model.op.chunked
local route = op.routes[1]
ok("temporaries", route.name == "math" and route.variant == nil
   and route.temporaries[1].dtype_like == "q" and route.temporaries[1].zeroed
   and route.temporaries[2].dtype == "f64"
   and #route.temporaries[2].shape == 0)
ok("step", route.steps[1].op == "softmax"
   and route.steps[1].args[2].name == "y"
   and route.steps[1].args[3].text == "2")
local loop = route.steps[2]
ok("loop", loop.loop.var == "chunk" and loop.loop.start.text == "0"
   and loop.loop.stop.text == "min(T, 8)" and loop.loop.step.text == "T"
   and loop.steps[1].when.text == "T > 2")
ok("part's column", loop.loop.stop.node.col == 19) -- of a plain scalar at 1

ok("ladders", #model.ladders == 2 and model.ladders[1].name == "cols"
   and model.ladders[2].edges[3] == 256)
ok("budget", model.budget.kernels == 40 and model.budget.lines == 9000)
local variant = model.tilings.softmax.tiers[1].variants[1]
ok("tiling", variant.name == "single_tile" and variant.config[1].name
   == "lanes" and variant.config[1].values[2] == 16)
ok("arch", model.archs.cpu.field.row_tile == 4096
   and model.archs.cpu.isa[2] == "avx2"
   and model.archs.cpu.fields[2].name == "cores")
ok("census", model.censuses.small.models[1].path == "s/census/a.json"
   and model.censuses.small.calls[1].text == "silu x=f32[batch, n]"
   and model.censuses.small.with[1].value[2] == 8)
ok("files", #model.files == 8)

-- Overlays.
local roots = {"s", "dir with space/o"}
local over = "dir with space/o/"
model = load({
    [over .. "op/silu.yaml"] = with(silu, {doc = "ours"}),
    [over .. "op/twice.yaml"] = with(silu, {op = "twice"}),
    [over .. "buckets.yaml"] = m {"ladders", m {"rows", {1}, "deep", {2}}},
    [over .. "budget.yaml"] = m {"budget", m {"kernels", 7}},
}, roots)
ok("overlay replaces", model.op.silu.doc == "ours"
   and model.op.silu.root == "dir with space/o"
   and model.op.silu.spec == "spec/op/silu.yaml")
ok("overlay extends", model.op.twice and model.op.softmax
   and #model.ladders == 3 and model.ladders[3].edges[1] == 1
   and model.budget.kernels == 7 and model.budget.lines == 9000)
model, errors = load(nil, {"s", "gone"})
ok("missing root", model == nil and told(errors, "gone:0:0",
                                         "no such spec folder"))
ok("missing folders", load({["t/buckets.yaml"] = m {"ladders", m {"r", {1}}}},
                           {"t"}))

-- Files.
refuses("unknown file", "s/op/notes.txt", "x", "notes.txt", "unknown file")
refuses("yml", "s/op/silu.yml", "x", "silu.yml", "name it silu.yaml")
refuses("root file", "s/bucket.yaml", "x", "did you mean buckets.yaml?")
refuses("root folder", "s/ops/silu.yaml", "x", "did you mean op?")
refuses("folder of folders", "s/op/a.yaml/x.yaml", "x", "is a folder")
refuses("file name", "s/op/swish.yaml", with(silu, {op = "swisch"}),
        "swish.yaml", "must stand in swisch.yaml")
refuses("twins", "s/op/zilu.yaml", silu, "s/op/zilu.yaml",
        "is defined by s/op/silu.yaml too")
refuses("json in op", "s/op/a.json", "x", "unknown file")

-- All errors of all files in one run; a broken op is told of once.
model, errors = load {
    ["s/op/silu.yaml"] = with(silu, {extra = "x", doc = nodes.q "a\nb"}),
    ["s/budget.yaml"] = m {"budget", m {"kernels", -1}},
    ["s/tiling/softmax.yaml"] = with(tiling, {tiling = "soft"}),
}
ok("all at once", model == nil and #errors == 4, table.concat(errors, "\n"))
local reversed = m {}
for i = #silu - 1, 1, -2 do
    reversed[#reversed + 1] = silu[i]
    reversed[#reversed + 1] = silu[i + 1]
end
ok("order is free", load {["s/op/silu.yaml"] = reversed})
model, errors = load({["s/op/silu.yaml"] = reversed}, {"s"}, {order = true})
ok("order for check", model == nil
   and told(errors, "s/op/silu.yaml", "stands after"))
