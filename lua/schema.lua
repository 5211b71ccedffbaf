-- schema.lua: what the files of a spec folder may hold, as data for read.lua.
-- Fields stand in the order that `kiln check` wants them in.
-- Reads nothing; returns one type per kind of file and the sets of names.

local M = {}

-- ORDER: dtypes, as in runtime/core/dtype.h.
M.dtypes = {
    "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64",
}

M.tiers = {"cpu", "sm70", "sm75", "sm80", "sm90"}

-- Most of each that the planner holds (runtime/core/tables.h).
M.most = {
    tensors = 8, attrs = 12, lets = 24, axes = 4, loops = 4, rank = 8,
    edges = 32767,
}

-- Argument names that mean something else in a step.
M.step_words = {op = true, when = true, steps = true}

local names = {kind = "one_or_list", of = "string", min = 1}
local exprs = {kind = "list", of = "expr"}

local function enum(list) return {kind = "enum", names = list} end
local function list(of) return {kind = "list", of = of, min = 1} end
local function map(of, key)
    return {kind = "map", of = of, key = key or "name", min = 1}
end
local function record(fields)
    return {kind = "record", fields = fields}
end

local tensor = record {
    {"role", enum {"in", "out", "inout"}, required = true},
    {"optional", "bool"},
    {"like", "string"},
    {"shape", {kind = "forms", scalar = "string", list = exprs,
               what = "the name of a tensor or a list of sizes"}},
    {"dtype", names},
}

-- The default, tried and lattice values are read again by the attribute's type.
local node = {kind = "node"}

local attr = record {
    {"type", enum {"int", "float", "bool", "string"}, required = true},
    {"choices", list "string"},
    {"default", node},
    {"tried", list(node)},
    {"baked", "bool"},
    {"doc", "line"},
}

local temporary = record {
    {"dtype", "string", required = true},
    {"shape", exprs, required = true},
    {"zeroed", "bool"},
}

local step = {
    kind = "record", rest = "expr",
    fields = {{"op", "name", required = true}, {"when", "expr"}},
}
local loop = record {
    {"for", "string", required = true},
    {"when", "expr"},
}
local any_step = {kind = "choose", key = "for", yes = loop, no = step}
loop.fields[3] = {"steps", list(any_step), required = true}

local route = {
    kind = "choose", key = "variant",
    yes = record {{"variant", "name", required = true}, {"when", "expr"}},
    no = record {
        {"name", "name", required = true},
        {"when", "expr"},
        {"temporaries", map(temporary)},
        {"steps", list(any_step), required = true},
    },
}

local limit = {kind = "float", min = 0, finite = true}

M.op = record {
    {"op", "name", required = true},
    {"family", "name", required = true},
    {"pytorch", "line"},
    {"doc", "line"},
    {"tensors", map(tensor), required = true},
    {"attrs", map(attr)},
    {"let", map("expr", "symbol")},
    {"routes", list(route)},
    {"key", map("expr", "symbol")},
    {"lattice", record {
        {"shape", map(exprs), required = true},
        {"attrs", map {kind = "list", of = node, min = 1}},
        {"within", "expr"},
    }},
    {"flops", "expr"},
    {"formula", "expr"},
    {"limits", map(record {{"ulp", limit}, {"abs", limit}, {"l2", limit}},
                   "string")},
}

-- Sizes of tiles, counts of lanes, switches: no more than fits an int of C.
local config = map(list {kind = "int", min = 0, max = 1048576})

M.tiling = record {
    {"tiling", "name", required = true},
    {"tiers", map(map(record {
        {"config", config, required = true},
        {"require", "expr"},
    })), required = true},
}

M.arch = record {
    {"arch", "name", required = true},
    {"tier", enum(M.tiers), required = true},
    {"isa", list(enum {"base", "avx2"})},
    {"chip", "line"},
    {"capability", {kind = "int", min = 10, max = 999}},
    {"fields", map "int", required = true},
}

M.census = record {
    {"census", "name", required = true},
    {"models", list(record {
        {"name", "line", required = true},
        {"config", "line", required = true},
    }), required = true},
    {"with", map(list {kind = "int", min = 1})},
    {"max_elements", {kind = "int", min = 1}},
    {"calls", list(record {
        {"call", "line", required = true},
        {"note", "line"},
    }), required = true},
}

M.buckets = record {
    {"ladders", map(list {kind = "int", min = 1}), required = true},
}

local bound = {kind = "int", min = 0}

M.budget = record {
    {"budget", record {
        {"kernels", bound}, {"lines", bound}, {"bytes", bound},
        {"keys_per_group", bound}, {"registers", bound}, {"spills", bound},
    }, required = true},
}

return M
