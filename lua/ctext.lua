-- ctext.lua: Lua tables as C data, by the schema of the core's structs.
--
-- ctext.object(out, type, name, value, options): writes value, a table of
--   struct `type` (see core.schema), as `const type name = {...};` onto the
--   list of lines `out`, its lists first as static arrays named after their
--   place. options.extern: not static.
-- A number may stand as {c = text, v = number}: the text is written. A list
-- with options.rows of its struct type is written one element a line.

local M = {}

local schema

-- Two question marks could be of a trigraph (C11 5.2.1.1).
local function quote(text)
    local special = text:find("??", 1, true) and '[\\"?]' or '[\\"]'
    return '"' .. text:gsub(special, "\\%0"):gsub("\n", "\\n") .. '"'
end

local small = {} -- texts of numbers that come again and again
for i = 0, 1023 do
    small[i] = ("%d"):format(i)
end

local function integer(value)
    if small[value] then
        return small[value]
    elseif type(value) == "table" then
        return value.c
    elseif type(value) == "boolean" then
        return value and "1" or "0"
    elseif value == math.mininteger then
        return "INT64_MIN"
    elseif value > 2147483647 or value < -2147483647 then
        return ("INT64_C(%d)"):format(value)
    end
    return ("%d"):format(value)
end

local function float(value)
    if value ~= value then
        return "NAN"
    elseif value == math.huge or value == -math.huge then
        return value > 0 and "INFINITY" or "-INFINITY"
    end
    return host.float(value)
end

local writers = {
    str = function(v) return quote(v or "") end,
    u8 = function(v) return integer(v or 0) end,
    u16 = function(v) return integer(v or 0) end,
    u32 = function(v) return integer(v or 0) end,
    i32 = function(v) return integer(v or 0) end,
    i64 = function(v) return integer(v or 0) end,
    u64 = function(v)
        return type(v) == "table" and v.c or ("0x%016x"):format(v or 0)
    end,
    f64 = function(v) return float(v or 0.0) end,
}

local struct_text

-- Scalars of a list in rows of at most 76 columns.
local function wrap(out, items)
    local line = "   "
    for _, item in ipairs(items) do
        if #line + #item + 2 > 80 then
            out[#out + 1] = line
            line = "   "
        end
        line = line .. " " .. item .. ","
    end
    out[#out + 1] = line
end

local ELEMENT = {
    strs = {"char *const", quote},
    i64s = {"int64_t", integer},
    u16s = {"uint16_t", integer},
}

local function scalar_list(out, field, name, list)
    local kind = ELEMENT[field.kind]
    local items = {}
    for i, v in ipairs(list) do
        items[i] = kind[2](v)
    end
    out[#out + 1] = ("static const %s %s[] = {"):format(kind[1], name)
    wrap(out, items)
    out[#out + 1] = "};"
    out[#out + 1] = ""
end

local function struct_list(out, field, name, list)
    local rows = {}
    for i, item in ipairs(list) do
        local part = item.name or (i - 1)
        if type(part) ~= "string" then
            part = tostring(i - 1)
        end
        rows[i] = struct_text(out, field.of, name .. "_" .. part, item)
    end
    out[#out + 1] = ("static const %s %s[] = {"):format(field.of, name)
    for i, row in ipairs(rows) do
        out[#out + 1] = "    " .. row .. ","
        if list[i].comment then
            out[#out] = out[#out] .. " /* " .. list[i].comment .. " */"
        end
    end
    out[#out + 1] = "};"
    out[#out + 1] = ""
end

-- The addresses of objects written elsewhere, by name; false: none.
local function pointer_list(out, field, name, list)
    out[#out + 1] = ("static const %s *const %s[] = {"):format(field.of, name)
    for _, item in ipairs(list) do
        out[#out + 1] = item and ("    &%s,"):format(item.ref)
            or "    NULL,"
    end
    out[#out + 1] = "};"
    out[#out + 1] = ""
end

local function list_text(out, field, name, list)
    if not list or #list == 0 then
        return "NULL, 0"
    end
    if field.kind == "structs" then
        struct_list(out, field, name, list)
    elseif field.kind == "pointers" then
        pointer_list(out, field, name, list)
    else
        scalar_list(out, field, name, list)
    end
    return ("%s, %d"):format(name, #list)
end

local function ref_text(value)
    if not value then
        return "NULL"
    end
    return (value.call and "" or "&") .. value.ref
end

-- The initialiser of a struct; its lists go to out first.
struct_text = function(out, type_name, name, value)
    local items = {}
    for i, field in ipairs(schema[type_name]) do
        local v = value[field.name]
        local write = writers[field.kind]
        if write then
            items[i] = write(v)
        elseif field.kind == "struct" then
            items[i] = struct_text(out, field.of, name .. "_" .. field.name,
                v or {})
        elseif field.kind == "ref" then
            items[i] = ref_text(v)
        else
            items[i] = list_text(out, field, name .. "_" .. field.name, v)
        end
    end
    return "{" .. table.concat(items, ", ") .. "}"
end

function M.object(out, type_name, name, value, options)
    schema = schema or core.schema()
    local text = struct_text(out, type_name, name, value)
    out[#out + 1] = ("%sconst %s %s ="):format(
        options and options.extern and "" or "static ", type_name, name)
    out[#out + 1] = "    " .. text .. ";"
    out[#out + 1] = ""
end

return M
