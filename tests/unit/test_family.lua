-- Checks the shape of what the families emit (STYLE's list for generated
-- files); what the kernels compute is certified elsewhere.
-- lua5.4 tests/unit/test_family.lua
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

local function ok(name, holds, detail)
    assert(holds, name .. ": " .. tostring(detail))
    print("ok " .. name)
end

local function op(name, names, formula, attrs)
    local tensors = {}
    for i, tensor in ipairs(names) do
        tensors[i] = {name = tensor, role = i == #names and "out" or "in",
                      dtypes = {tensor == "cond" and "bool" or "f32"}}
    end
    return {name = name, spec = "spec/op/" .. name .. ".yaml",
            tensors = tensors, attrs = attrs or {},
            formula = formula and {text = formula, ast = expr.parse(formula)}}
end

local function kernel(spec, variant, dtypes, layout, config, baked)
    return {
        op = spec, variant = variant, tier = "cpu", dtypes = dtypes,
        keyed = "f16", baked = baked or {}, layout = layout, config = config,
        symbol = spec.name .. "_k" .. config[1].value,
        config_text = config[1].name .. "=" .. config[1].value,
        key_class = spec.name .. "/" .. variant, spec = spec.spec,
        tiling = "spec/tiling/t.yaml",
        model = {archs = {cpu = {tier = "cpu", field = {row_tile = 4096}}}},
    }
end

local FAMILIES = {
    softmax = require "family.softmax.init",
    elementwise = require "family.elementwise.init",
}
local SOFTMAX = op("softmax", {"x", "y"})
local WHERE = op("where", {"cond", "a", "b", "y"}, "if cond then a else b")
local ADD = op("add", {"a", "b", "y"}, "a + alpha * b",
               {{name = "alpha", type = "float"}})

-- Every kernel text of a few ops.
local function texts()
    local out = {}
    local function add(family, ...)
        out[#out + 1] = FAMILIES[family].text(kernel(...))
    end
    local half = {x = "f16", y = "f16"}
    for _, layout in ipairs {"contiguous", "inner", "general"} do
        for _, log in ipairs {false, true} do
            add("softmax", SOFTMAX, "single_tile", half, layout,
                {{name = "lanes", value = 32}}, {log = log})
            add("softmax", SOFTMAX, "looped", half, layout,
                {{name = "lanes", value = 32}, {name = "block", value = 64}},
                {log = log})
        end
        local block = {{name = "block", value = 4096}}
        add("elementwise", WHERE, "map",
            {cond = "bool", a = "f64", b = "f64", y = "f64"}, layout, block)
        add("elementwise", ADD, "map", {a = "bf16", b = "f32", y = "f32"},
            layout, block)
    end
    return out
end

local function check_style()
    local header
    for i, text in ipairs(texts()) do
        local name = "text " .. i .. " "
        ok(name .. "has no preprocessor line", not text:find("\n#"), text)
        ok(name .. "has no trailing blank", not text:find("[ \t]\n"), text)
        ok(name .. "ends in one newline", text:find("[^\n]\n$"), text)
        ok(name .. "is short", select(2, text:gsub("\n", "")) < 200, text)
        for line in text:gmatch("[^\n]*") do
            assert(#line <= 100, name .. "has a long line: " .. line)
        end
        local lines = select(2, text:match("^/%*.-%*/"):gsub("\n", ""))
        header = header or lines
        ok(name .. "has the header's lines", lines == header, text)
    end
end

-- Two configs differ in header, symbol and constants only.
local function check_configs()
    local both = {}
    for i, value in ipairs {32, 64} do
        local text = FAMILIES.softmax.text(kernel(SOFTMAX, "looped",
            {x = "f16", y = "f32"}, "inner", {{name = "lanes", value = value},
            {name = "block", value = 1024}}, {log = false}))
        both[i] = text:gsub("softmax_k%d+", "S"):gsub("lanes=%d+", "C")
            :gsub("LANES +=  *%d+", "C")
    end
    ok("configs differ in constants alone", both[1] == both[2], both[2])
end

-- The struct has a field, or an array of 8, for each slot of the recipe.
local function check_slots()
    local width = {SIZE = "[KILN_ROW_RANK]", STRIDE = "[KILN_ROW_RANK]"}
    for _, layout in ipairs {"contiguous", "inner", "general"} do
        local k = kernel(ADD, "map", {a = "f32", b = "f32", y = "f32"},
                         layout, {{name = "block", value = 4096}})
        local head = FAMILIES.elementwise.prelude(k)
        local body = head:match("struct add_map_f16_" .. layout
                                .. "_args {\n(.-)\n};")
        local fields = {}
        for field in body:gmatch("[^\n]+") do fields[#fields + 1] = field end
        local slots = FAMILIES.elementwise.recipe(k).slots
        ok(layout .. ": a field a slot", #fields == #slots, body)
        for i, slot in ipairs(slots) do
            local array = fields[i]:match("%[.*%]")
            assert(array == width[slot.kind], layout .. ": " .. fields[i])
        end
    end
end

local function check_expand()
    local spec = op("scale", {"x", "y"}, "x * 2 + 1")
    FAMILIES.elementwise.expand(spec)
    ok("one route", spec.routes[1].variant == "map")
    ok("key", spec.key[1].axis == "n"
       and spec.key[1].text == "bucket(elements, numel(y))")
    ok("lattice", spec.lattice.shape[1].tensor == "x"
       and spec.lattice.within.text
           == "numel(y) * dtype_size(y) <= arch.lattice_bytes")
    ok("flops", spec.flops.text == "2 * numel(y)", spec.flops.text)
end

check_style()
check_configs()
check_slots()
check_expand()
