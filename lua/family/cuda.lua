-- family/cuda.lua: what the CUDA kernels of all families share: vectors of
-- elements, the argument struct, the header comment, the head of a file. The
-- counterpart of family/c.lua; k is the kernel record of lua/kernels.lua with
--   align  16: every row of every tensor starts at a multiple of 16 bytes;
--          1: rows start at multiples of their element's size
--   tier   "sm70", "sm75", "sm80" or "sm90"

local c = require "family.c"

local M = {}

local ALIGNED = 16 -- bytes that rows are multiples of, and a vector at most
local VECTOR = {[16] = "kiln_u32x4", [8] = "kiln_u32x2", [4] = "uint32_t",
                [2] = "uint16_t", [1] = "uint8_t"}
local WORD = {[16] = "u32x4", [8] = "u32x2", [4] = "u32", [2] = "u16",
              [1] = "u8"}

M.storage, M.width, M.args_name = c.storage, c.width, c.args_name

-- The types that k computes in: type and its suffix in math.cuh; and the type
-- that conditions are held in.
function M.compute(k)
    local ctype, suffix = c.compute(k)
    return ctype, suffix, "uint32_t"
end

-- Whether k's results are rounded to 16 bits, for which fast functions do.
function M.is_short(k)
    for _, t in ipairs(k.op.tensors) do
        if t.role ~= "in" and c.width(k.dtypes[t.name]) > 2 then
            return false
        end
    end
    return true
end

-- The value of a config field; nil where there is none.
function M.config(k, name)
    for _, field in ipairs(k.config) do
        if field.name == name then return field.value end
    end
end

-- Elements of a vector, the same for all tensors of k: the widest one's has
-- as many bytes as config `vector` says, or 16. Where rows are not aligned, or
-- not dense, it is one element.
function M.vector_width(k)
    if k.align ~= ALIGNED or k.layout == "general" then return 1 end
    local widest = 1
    for _, t in ipairs(k.op.tensors) do
        widest = math.max(widest, c.width(k.dtypes[t.name]))
    end
    return math.max(1, (M.config(k, "vector") or ALIGNED) // widest)
end

-- A vector of k's dtype: its C type, and the names of what moves it. Config
-- stream=1: what is written is not read soon.
function M.vector(k, dtype)
    local bytes = M.vector_width(k) * c.width(dtype)
    local once = M.config(k, "stream") == 1 and "once_" or ""
    return {
        type = assert(VECTOR[bytes], bytes),
        load = "kiln_load_" .. WORD[bytes],
        store = "kiln_store_" .. once .. WORD[bytes],
        unpack = "kiln_unpack_" .. dtype, pack = "kiln_pack_" .. dtype,
    }
end

-- text, an element as stored, in the type computed in; and back.
function M.load(k, dtype, text)
    return dtype == "bool" and text or c.load(k, dtype, text)
end

M.store = c.store

-- Argument slots: those of family/c.lua, with the number of rows where
-- with_rows, which is text of an expression.
function M.slots(k, with_rows)
    local slots = c.slots(k)
    if with_rows then
        table.insert(slots, #k.op.tensors + 2,
                     {kind = "INT", expr = with_rows, name = "rows"})
    end
    return slots
end

-- The struct that slots fill: as family/c.lua writes it, and INT slots.
function M.args(k, slots)
    local plain = {}
    for _, slot in ipairs(slots) do
        if slot.kind ~= "INT" then plain[#plain + 1] = slot end
    end
    local lines = {}
    for line in c.args(k, plain):gmatch("[^\n]+") do
        lines[#lines + 1] = line
    end
    for i, slot in ipairs(slots) do
        if slot.kind == "INT" then
            table.insert(lines, i + 1, "    int64_t " .. slot.name .. ";")
        end
    end
    return table.concat(lines, "\n")
end

-- The constants block: the config's fields, then more: {{name, text}}.
function M.constants(k, more)
    local fields, widest, lines = {}, 0, {}
    for _, field in ipairs(k.config) do
        fields[#fields + 1] = {field.name, ("%d"):format(field.value)}
    end
    table.move(more, 1, #more, #fields + 1, fields)
    for _, field in ipairs(fields) do widest = math.max(widest, #field[1]) end
    for i, field in ipairs(fields) do
        lines[i] = string.format("%-" .. widest .. "s = %s,",
                                 field[1]:upper(), field[2])
    end
    return table.concat(lines, "\n")
end

-- What __launch_bounds__ is given: threads, and blocks that a multiprocessor
-- has room for where the config says so.
function M.bounds(k)
    local resident = M.config(k, "resident")
    local threads = ("%d"):format(M.config(k, "threads"))
    return resident and ("%s, %d"):format(threads, resident) or threads
end

-- The header comment: facts = {{label, text}} after those of every kernel.
function M.header(k, recipe, facts)
    local lines = {"/* " .. k.symbol}
    local function add(label, text)
        lines[#lines + 1] = string.format(" * %-13s %s", label, text)
    end
    add("key class", k.key_class)
    add("config", k.config_text)
    add("specs", k.spec .. ", " .. k.tiling)
    add("blocks", recipe.units)
    add("launch", string.format("%d threads a block, clusters of %d",
        M.config(k, "threads"),
        recipe.cluster == "1" and 1 or M.config(k, recipe.cluster)))
    add("shared", recipe.shared .. " bytes a block")
    for _, fact in ipairs(facts) do add(fact[1], fact[2]) end
    lines[#lines + 1] = " */"
    return table.concat(lines, "\n")
end

-- The head of a file: what it came from, includes, argument structs.
-- file: {op =, variant =, keyed =, dtypes =, spec =}.
function M.prelude(file, layouts, slots_of)
    local lines = {
        string.format("/* Generated by kiln: edit %s, then run make gen. */",
                      file.spec),
        '#include "device.cuh"', '#include "math.cuh"', "",
        "/* Arguments, by layout: 64-bit slots that the plan fills. */",
    }
    for _, layout in ipairs(layouts) do
        local k = setmetatable({layout = layout}, {__index = file})
        lines[#lines + 1] = M.args(k, slots_of(k)) .. "\n"
    end
    return table.concat(lines, "\n")
end

return M
