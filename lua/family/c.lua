-- family/c.lua: what the C kernels of all families share: element types, the
-- argument struct that a recipe's slots make, the header comment, the head of
-- a file. k is the kernel record of lua/kernels.lua.

local M = {}

local STORAGE = {bool = "uint8_t", f16 = "uint16_t", bf16 = "uint16_t",
                 f32 = "float", f64 = "double"}
local WIDTH = {bool = 1, f16 = 2, bf16 = 2, f32 = 4, f64 = 8}

-- The types that k computes in: type, its suffix in math.h, and the unsigned
-- type of the same width, in which conditions are held.
function M.compute(k)
    for _, t in ipairs(k.op.tensors) do
        if k.dtypes[t.name] == "f64" then return "double", "f64", "uint64_t" end
    end
    return "float", "f32", "uint32_t"
end

function M.storage(dtype) return STORAGE[dtype] end
function M.width(dtype) return WIDTH[dtype] end

-- text, an element as stored, in the type computed in.
function M.load(k, dtype, text)
    local ctype, suffix, mask = M.compute(k)
    if dtype == "bool" then
        return string.format("(%s)%s", mask, text)
    elseif dtype == suffix then
        return text
    elseif dtype == "f32" then
        return string.format("(%s)%s", ctype, text)
    end
    return string.format("kiln_%s_from_%s(%s)", suffix, dtype, text)
end

-- text, a value of the type computed in, as stored.
function M.store(k, dtype, text)
    local _, suffix = M.compute(k)
    if dtype == suffix then
        return text
    elseif dtype == "f32" then
        return "(float)" .. (text:find(" ") and "(" .. text .. ")" or text)
    end
    return string.format("kiln_%s_from_%s(%s)", dtype, suffix, text)
end

-- "silu_map_f32": what names of a file's own start with.
function M.file_name(k)
    return string.format("%s_%s_%s", k.op.name, k.variant, k.keyed)
end

function M.args_name(k)
    return M.file_name(k) .. "_" .. k.layout .. "_args"
end

-- Argument slots that place a row: base pointers, then, past contiguous, the
-- outer dims with each tensor's strides, and along the row only in general.
function M.slots(k)
    local slots = {}
    local function each(kind)
        for i in ipairs(k.op.tensors) do
            slots[#slots + 1] = {kind = kind, tensor = i - 1}
        end
    end
    each("DATA")
    slots[#slots + 1] = {kind = "ROW_SIZE"}
    if k.layout == "contiguous" then return slots end
    slots[#slots + 1] = {kind = "RANK"}
    slots[#slots + 1] = {kind = "SIZE"}
    each("STRIDE")
    if k.layout == "general" then each("ROW_STRIDE") end
    return slots
end

local FIELD = {
    ROW_SIZE = function() return "int64_t row_size;" end,
    RANK = function() return "int64_t rank;" end,
    SIZE = function() return "int64_t size[KILN_ROW_RANK];" end,
    DATA = function(_, t, dtype)
        return string.format("%s%s *%s_data;", t.role == "in" and "const "
                             or "", STORAGE[dtype], t.name)
    end,
    STRIDE = function(_, t)
        return "int64_t " .. t.name .. "_stride[KILN_ROW_RANK];"
    end,
    ROW_STRIDE = function(_, t)
        return "int64_t " .. t.name .. "_row_stride;"
    end,
    FLOAT = function(slot) return "double attr_" .. slot.expr .. ";" end,
}

-- The struct that slots fill, a field a slot.
function M.args(k, slots)
    local lines = {"struct " .. M.args_name(k) .. " {"}
    for _, slot in ipairs(slots) do
        local t = slot.tensor and k.op.tensors[slot.tensor + 1]
        lines[#lines + 1] = "    "
            .. FIELD[slot.kind](slot, t, t and k.dtypes[t.name])
    end
    lines[#lines + 1] = "};"
    return table.concat(lines, "\n")
end

function M.config_text(k)
    local out = {}
    for i, field in ipairs(k.config) do
        out[i] = string.format("%s=%d", field.name, field.value)
    end
    return table.concat(out, " ")
end

-- The config as the constants block of a function: aligned enumerators. more:
-- {{name=, value=}} that are not the config's, or nil.
function M.constants(k, more)
    local widest, lines, fields = 0, {}, {table.unpack(k.config)}
    for _, field in ipairs(more or {}) do fields[#fields + 1] = field end
    for _, field in ipairs(fields) do
        widest = math.max(widest, #field.name)
    end
    for i, field in ipairs(fields) do
        lines[i] = string.format("%-" .. widest .. "s = %d,",
                                 field.name:upper(), field.value)
    end
    return table.concat(lines, "\n")
end

-- The header comment: facts = {{label, text}} after those of every kernel.
function M.header(k, recipe, facts)
    local lines = {"/* " .. k.symbol}
    local function add(label, text)
        lines[#lines + 1] = string.format(" * %-13s %s", label, text)
    end
    add("key class", k.key_class)
    add("config", M.config_text(k))
    add("specs", k.spec .. ", " .. k.tiling)
    add("units", recipe.units)
    add("grain", recipe.grain)
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
        "#include <assert.h>", "#include <stdint.h>", "",
        '#include "cpu/math.h"', '#include "cpu/rows.h"', "",
        "/* Arguments, by layout: 64-bit slots that the plan fills. */",
    }
    for _, layout in ipairs(layouts) do
        local k = setmetatable({layout = layout}, {__index = file})
        lines[#lines + 1] = M.args(k, slots_of(k)) .. "\n"
    end
    return table.concat(lines, "\n")
end

return M
