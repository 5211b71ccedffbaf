-- enum.lua: the enumerations of the runtime's headers, read from the headers
-- themselves so that no list is typed twice.
--
-- enum.read(header, prefix) -> {NAME = {c="PREFIX_NAME", v=value}, ...} for
-- each enumerator `PREFIX_NAME [= integer],` and each
-- `#define PREFIX_NAME integer` of the embedded header.

local M = {}

local cache = {}

local function strip_comments(text)
    return (text:gsub("/%*.-%*/", " "))
end

local function add_enumerators(out, text, prefix)
    for body in text:gmatch("enum%s+[%w_]+%s*(%b{})") do
        local value = -1
        for item in body:sub(2, -2):gmatch("[^,]+") do
            local name, given = item:match("^%s*([%w_]+)%s*=?%s*(%d*)%s*$")
            if name then
                value = given ~= "" and math.tointeger(tonumber(given))
                    or value + 1
                if name:sub(1, #prefix) == prefix then
                    out[name:sub(#prefix + 1)] = {c = name, v = value}
                end
            end
        end
    end
end

local function add_defines(out, text, prefix)
    for name, value in text:gmatch("#define%s+([%w_]+)%s+([%wx]+)") do
        local number = math.tointeger(tonumber(value))
        if number and name:sub(1, #prefix) == prefix then
            out[name:sub(#prefix + 1)] = {c = name, v = number}
        end
    end
end

function M.read(header, prefix)
    local id = header .. " " .. prefix
    if not cache[id] then
        local text = assert(host.embedded(header), header)
        local out = {}
        text = strip_comments(text)
        add_enumerators(out, text, prefix)
        add_defines(out, text, prefix)
        cache[id] = out
    end
    return cache[id]
end

return M
