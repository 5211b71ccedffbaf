-- Checks the shape of what the families emit for CUDA (STYLE's list for
-- generated files), and that recipes, structs and texts agree; what the kernels
-- compute is checked by the harness and on GPUs.
-- lua5.4 tests/unit/test_family_cuda.lua
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path

local function read(path)
    local file = assert(io.open(path))
    local text = file:read("a")
    file:close()
    return text
end

host = {
    compile = function(chunk, text, env) return load(text, chunk, "t", env) end,
    embedded = function(name) return read("lua/" .. name) end,
    float = function(x) return string.format("%.17g", x) end,
    error = function(_, _, _, text) error(text) end,
}

local expr = require "expr"
local cuda = require "family.cuda"

local FAMILIES = {
    softmax = require "family.softmax.cuda",
    elementwise = require "family.elementwise.cuda",
}
local HEADERS = read("runtime/cuda/device.cuh") .. read("runtime/cuda/math.cuh")

local function ok(name, holds, detail)
    assert(holds, name .. ": " .. tostring(detail))
    print("ok " .. name)
end

local function op(name, names, formula, attrs)
    local tensors = {}
    for i, tensor in ipairs(names) do
        tensors[i] = {name = tensor, role = i == #names and "out" or "in"}
    end
    return {name = name, spec = "spec/op/" .. name .. ".yaml",
            tensors = tensors, attrs = attrs or {},
            formula = formula and {text = formula, ast = expr.parse(formula)}}
end

local OPS = {
    softmax = op("softmax", {"x", "y"}),
    where = op("where", {"cond", "a", "b", "y"}, "if cond then a else b"),
    add = op("add", {"a", "b", "y"}, "a + alpha * b",
             {{name = "alpha", type = "float"}}),
    silu = op("silu", {"x", "y"}, "x / (1 + exp(-x))"),
}

-- "threads=128 unroll=2" as config fields.
local function config(text)
    local out = {}
    for name, value in text:gmatch("(%l+)=(%d+)") do
        out[#out + 1] = {name = name, value = math.tointeger(tonumber(value))}
    end
    return out
end

-- What each variant is tried with, two configs apart in numbers alone.
local CONFIGS = {
    map = {"threads=128 vector=16 unroll=2", "threads=256 vector=8 unroll=4"},
    single_tile = {"threads=128 lanes=8 elements=16",
                   "threads=64 lanes=32 elements=32"},
    block_tile = {"threads=128 elements=16", "threads=512 elements=32"},
    cluster = {"threads=128 cluster=4 elements=16",
               "threads=512 cluster=16 elements=32"},
    looped = {"threads=512 elements=8", "threads=1024 elements=16"},
}

-- dtypes: of the op's tensors in their order.
local function kernel(spec, variant, dtypes, layout, align, text)
    local of = {}
    for i, tensor in ipairs(spec.tensors) do of[tensor.name] = dtypes[i] end
    return {
        op = spec, variant = variant, tier = "sm90", dtypes = of,
        keyed = table.concat(dtypes, "_"), baked = {}, layout = layout,
        align = align, config = config(text), config_text = text,
        symbol = spec.name .. "_kernel",
        key_class = spec.name .. "/" .. variant,
        spec = spec.spec, tiling = "spec/tiling/t.yaml",
    }
end

local function family(k) return FAMILIES[k.op.formula and "elementwise"
                                         or "softmax"] end

-- Calls f(k) with kernels of all kinds; config: 1 or 2.
local function each(config_number, f)
    local function layouts(spec, variant, dtypes, baked)
        for _, at in ipairs {"contiguous 16", "contiguous 1", "inner 16",
                             "inner 1", "general 1"} do
            local layout, align = at:match("(%l+) (%d+)")
            local k = kernel(spec, variant, dtypes, layout,
                             math.tointeger(tonumber(align)),
                             CONFIGS[variant][config_number])
            k.baked = baked or {}
            f(k, table.concat({spec.name, variant, k.keyed, at}, " "))
        end
    end
    for _, pair in ipairs {{"f16", "f16"}, {"bf16", "f32"}, {"f32", "f32"},
                           {"f64", "f64"}, {"f64", "f32"}} do
        for _, variant in ipairs(FAMILIES.softmax.variants) do
            layouts(OPS.softmax, variant, pair, {log = false})
            layouts(OPS.softmax, variant, pair, {log = true})
        end
        layouts(OPS.silu, "map", pair)
    end
    layouts(OPS.where, "map", {"bool", "f16", "f16", "f16"})
    layouts(OPS.where, "map", {"bool", "f64", "f64", "f64"})
    layouts(OPS.add, "map", {"bf16", "f32", "f32"})
end

-- Lines are at most 100 long, calls are of what the headers have, and of CUDA
-- there is nothing else but a kernel's own words.
local function check_text(k, name)
    local text = family(k).text(k)
    for line in text:gmatch("[^\n]*") do
        assert(#line <= 100, name .. " has a long line: " .. line)
        assert(not line:find("^%s*#") or line:find("^%s*#pragma unroll"), line)
        assert(not line:find("[ \t]$"), name .. " has a trailing blank")
    end
    assert(text:find("[^\n]\n$") and not text:find("\n\n\n"), name)
    assert(select(2, text:gsub("\n", "")) < 200, name .. " is long")
    for call in text:gmatch("(kiln_[%w_]+)%(") do
        assert(HEADERS:find("[ *]" .. call .. "%("), name .. " calls " .. call)
    end
    for word in text:gmatch("__[%w_]+") do
        assert(word == "__launch_bounds__" or word == "__grid_constant__", word)
    end
    assert(not text:find("asm"), name)
    return text
end

local function check_texts()
    local n, header = 0, nil
    each(1, function(k, name)
        local text = check_text(k, name)
        local lines = select(2, text:match("^/%*.-%*/"):gsub("\n", ""))
        header = header or lines
        assert(lines == header, name .. " has another header")
        n = n + 1
    end)
    ok("the shape of " .. n .. " texts", n > 200)
end

-- What a config may change, taken out.
local function without_config(text)
    text = text:gsub("^/%*.-%*/", ""):gsub("__launch_bounds__%([%d, ]+%)", "")
    return (text:gsub("\n( +%u+ +)= %d+,", "\n%1= N,"):gsub(" +=", " ="))
end

local function check_configs()
    each(1, function(k, name)
        if k.variant == "map" then return end
        local other = setmetatable({
            config = config(CONFIGS[k.variant][2]),
            config_text = CONFIGS[k.variant][2],
        }, {__index = k})
        local text, text_2 = family(k).text(k), family(k).text(other)
        assert(without_config(text) == without_config(text_2), name)
    end)
    ok("two configs of softmax differ in constants alone", true)
end

-- The struct has a field, or an array of 8, for each slot of the recipe.
local function check_slots()
    local width = {SIZE = "[KILN_ROW_RANK]", STRIDE = "[KILN_ROW_RANK]"}
    each(1, function(k, name)
        local body = family(k).prelude(k):match(
            "struct " .. cuda.args_name(k) .. " {\n(.-)\n};")
        local fields = {}
        for field in body:gmatch("[^\n]+") do fields[#fields + 1] = field end
        local slots = family(k).recipe(k).slots
        assert(#fields == #slots, name .. "\n" .. body)
        for i, slot in ipairs(slots) do
            assert(fields[i]:match("%[.*%]") == width[slot.kind], fields[i])
            assert((slot.kind == "INT") == (fields[i]:find(" rows;") ~= nil))
        end
        assert(#slots >= 3, name .. " has few slots")
    end)
    ok("a field a slot", true)
end

-- An expression's value for a row count, columns and k's config.
local function value(text, k, rows, cols)
    local env = {rows = rows, cols = cols,
                 cdiv = function(a, b) return (a + b - 1) // b end}
    for _, field in ipairs(k.config) do env[field.name] = field.value end
    return assert(load("return " .. text, text, "t", env))()
end

local function check_recipes()
    each(1, function(k, name)
        local r = family(k).recipe(k)
        local text = family(k).text(k)
        local shared = math.tointeger(value(r.shared, k, 1, 1))
        local stated = text:match("SHARED += (%d+),")
            or text:match("PART += (%d+),")
        assert(shared == tonumber(stated or 0), name)
        assert(value(r.threads, k, 1, 1) == cuda.config(k, "threads"))
        local units = value(r.units, k, 7, 64)
        local per = value(r.cluster, k, 1, 1)
        assert(math.type(units) == "integer" and units % per == 0, name)
    end)
    ok("recipes are numbers that the texts state", true)
end

-- A cluster's kernel of softmax, aligned as given.
local function cluster(dtypes, align, text)
    return kernel(OPS.softmax, "cluster", dtypes, "contiguous", align, text)
end

-- A block's part of the row is in shared memory where its vectors are of 16
-- bytes, and no config is offered whose part would not fit.
local function check_parts()
    local room = 232448
    local softmax = FAMILIES.softmax
    local k = cluster({"f16", "f16"}, 16, "threads=512 cluster=4 elements=32")
    ok("a block has a fourth of the whole vectors, rounded up",
       value(softmax.recipe(k).shared, k, 1, 65552) == 1024 + 2049 * 16)
    ok("and none of a row shorter than a vector",
       value(softmax.recipe(k).shared, k, 1, 7) == 1024)
    ok("the bulk copy is where it is aligned",
       softmax.text(k):find("kiln_bulk_load(", 1, true)
       and not softmax.text(cluster({"f16", "f16"}, 1,
           "threads=512 cluster=4 elements=32")):find("kiln_bulk_load(", 1,
                                                       true))
    ok("vectors of 8 bytes stay in registers",
       not softmax.text(cluster({"f16", "f32"}, 16,
           "threads=512 cluster=4 elements=32")):find("kiln_bulk_load(", 1,
                                                      true))
    local large = "threads=512 cluster=2 elements=64"
    ok("half of a long row of f32 fits",
       softmax.fits(cluster({"f32", "f32"}, 16, large), room))
    ok("half of a long row of f64 does not",
       not softmax.fits(cluster({"f64", "f64"}, 16, large), room))
    ok("registers hold what they hold",
       softmax.fits(cluster({"f64", "f64"}, 1, large), room))
end

local function width(dtypes, align, layout)
    return cuda.vector_width(kernel(OPS.add, "map", dtypes, layout, align,
                                    "threads=128 unroll=1"))
end

local function check_vectors()
    ok("halves go by eight", width({"f16", "f16", "f16"}, 16, "inner") == 8)
    ok("the widest tensor decides",
       width({"f16", "f32", "f32"}, 16, "contiguous") == 4)
    ok("unaligned rows go by elements",
       width({"f16", "f16", "f16"}, 1, "inner") == 1)
    ok("so do rows with strides",
       width({"f16", "f16", "f16"}, 16, "general") == 1)
end

local function silu(dtype, ulp)
    local k = kernel(OPS.silu, "map", {dtype, dtype}, "contiguous", 16,
                     "threads=128 unroll=1")
    k.op = setmetatable({limits = {{dtype = dtype, ulp = ulp}}},
                        {__index = k.op})
    return family(k).text(k)
end

local function check_accuracy()
    ok("16-bit results take fast functions",
       silu("f16", 1):find("kiln_div_fast%(x, 1[.0]*f %+ kiln_exp_fast%(%-x%)"))
    ok("f32 within 4 takes a near quotient",
       silu("f32", 4):find("kiln_div_near_f32(", 1, true)
       and silu("f32", 4):find("kiln_exp_f32(-x)", 1, true))
    ok("f32 within 1 takes the exact one",
       silu("f32", 1):find("return x / (", 1, true))
end

check_texts()
check_configs()
check_slots()
check_recipes()
check_parts()
check_vectors()
check_accuracy()
