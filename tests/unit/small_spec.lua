-- small_spec.lua: a small spec folder "s" as literals of nodes.lua, for tests
-- that change one thing of it at a time.
local nodes = require "nodes"
nodes.install()
local spec = require "spec"

local m = nodes.m
local M = {}

local function copy(literal)
    if type(literal) ~= "table" then return literal end
    local new = setmetatable({}, getmetatable(literal))
    for i, v in ipairs(literal) do new[i] = copy(v) end
    return new
end

-- The map literal with fields set (value) or removed (false).
function M.with(literal, changes)
    local new = m {}
    local left = {}
    for k, v in pairs(changes) do left[k] = v end
    for i = 1, #literal, 2 do
        local key = literal[i]
        local value = left[key]
        if value == nil then value = copy(literal[i + 1]) end
        if value ~= false then
            new[#new + 1] = key
            new[#new + 1] = value
        end
        left[key] = nil
    end
    for _, key in ipairs {"extra", "like", "attrs", "let", "lattice", "doc",
                          "routes", "key", "formula", "shape", "optional"} do
        if left[key] then
            new[#new + 1] = key
            new[#new + 1] = left[key]
        end
    end
    return new
end

M.silu = m {
    "op", "silu", "family", "elementwise",
    "doc", "x times the logistic of x",
    "tensors", m {
        "x", m {"role", "in", "dtype", {"f16", "f32"}},
        "y", m {"role", "out", "like", "x"},
    },
    "formula", "x / (1 + exp(-x))",
    "limits", m {"f32", m {"ulp", 4}, "f16", m {"ulp", 1}},
}
M.softmax = m {
    "op", "softmax", "family", "softmax",
    "tensors", m {
        "x", m {"role", "in", "dtype", {"f16", "f32"}},
        "y", m {"role", "out", "shape", "x", "dtype", {"x", "f32"}},
    },
    "attrs", m {
        "dim", m {"type", "int", "default", -1},
        "log", m {"type", "bool", "default", "false", "baked", "true"},
        "eps", m {"type", "float", "default", 1},
        "mode", m {"type", "string", "choices", {"no", "yes"},
                   "default", "no", "baked", "true"},
        "parts", m {"type", "int"},
    },
    "let", m {"N", "size(x, dim)", "M", "numel(x) // N"},
    "routes", {
        m {"variant", "single_tile", "when", "N <= 64"},
        m {"variant", "looped"},
    },
    "key", m {"M", "bucket(rows, M)", "N", "bucket(cols, N)"},
    "lattice", m {
        "shape", m {"x", {"M", "N"}}, "attrs", m {"mode", {"yes"}},
        "within", "M * N <= 4096",
    },
    "flops", "5 * numel(x)",
    "limits", m {"f16", m {"ulp", 1, "l2", "1e-3"}, "f32", m {"abs", "0.5"}},
}
M.composite = m {
    "op", "chunked", "family", "composite",
    "tensors", m {
        "q", m {"role", "in", "dtype", "f32"},
        "z", m {"role", "out", "like", "q"},
    },
    "attrs", m {"alpha", m {"type", "int", "default", 1}},
    "let", m {"T", "size(q, 0)"},
    "routes", {
        m {"name", "math", "when", "T > 1",
           "temporaries", m {
               "s", m {"dtype", "q", "shape", {"T", 2}, "zeroed", "true"},
               "p", m {"dtype", "f64", "shape", {}},
           },
           "steps", {
               m {"op", "softmax", "x", "q", "y", "s", "parts", 2},
               m {"for", "chunk in range(0, min(T, 8), T)", "steps", {
                   m {"op", "softmax", "when", "T > 2", "x", "s", "y", "z",
                      "parts", 1},
               }},
           }},
        m {"name", "small", "steps", {m {"op", "silu", "x", "q", "y", "z"}}},
    },
}
M.tiling = m {"tiling", "softmax", "tiers", m {"cpu", m {
    "single_tile", m {"config", m {"lanes", {8, 16}, "unroll", {1}}},
    "looped", m {"config", m {"lanes", {8}}, "require", "lanes > 4"},
}}}
M.census = m {
    "census", "small",
    "models", {m {"name", "A-1", "config", "a.json"}},
    "with", m {"batch", {1, 8}}, "max_elements", 67108864,
    "calls", {m {"call", "silu x=f32[batch, n]", "note", "gate"}},
}

function M.files(changes)
    local files = {
        ["s/buckets.yaml"] = m {"ladders", m {
            "rows", {64, 128, 256}, "cols", {16, 64, 65, 130}}},
        ["s/budget.yaml"] = m {"budget", m {"kernels", 40, "lines", 9000}},
        ["s/op/silu.yaml"] = M.silu, ["s/op/softmax.yaml"] = M.softmax,
        ["s/op/chunked.yaml"] = M.composite,
        ["s/tiling/softmax.yaml"] = M.tiling,
        ["s/arch/cpu.yaml"] = m {"arch", "cpu", "tier", "cpu", "isa",
            {"base", "avx2"}, "fields", m {"row_tile", 4096, "cores", 2}},
        ["s/census/small.yaml"] = M.census, ["s/census/a.json"] = "{}",
        ["s/certified/cpu/keys.tsv"] = "", ["s/README.md"] = "",
        ["s/op/.silu.yaml.swp"] = "", ["s/op/silu.yaml~"] = "",
    }
    for path, value in pairs(changes or {}) do
        files[path] = value or nil
    end
    return files
end

-- The folder with files changed (a literal) or removed (false), loaded.
function M.load(changes, roots, options)
    local errors = nodes.install(M.files(changes))
    return spec.load(roots or {"s"}, options), errors
end

-- Asserts that the folder with one file changed is refused, and that one
-- message holds all the texts.
function M.refuses(name, file, content, ...)
    local model, errors = M.load {[file] = content}
    nodes.ok(name, model == nil and nodes.told(errors, ...),
       table.concat(errors, "\n"))
end

return M
