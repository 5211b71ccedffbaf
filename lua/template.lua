-- template.lua: text with holes and Lua lines.
--
--   % for _, t in ipairs(inputs) do
--       const ${t.type} *const ${t.name} = ${t.base};
--   % end
--
-- A line whose first non-blank is `%`, followed by a blank or nothing, is Lua.
-- `${expr}` in any other line stands for the expression's value: a string, an
-- integer, or a float as the host writes it. Later lines of a value get the
-- blanks that its own line starts with. A line of holes alone whose values are
-- all empty is left out. Names that env does not hold are errors.
--
-- render(name, text, env) -> text; errors say "name:line: what".

local M = {}

-- What Lua lines may use beside env.
local BASE = {
    ipairs = ipairs, pairs = pairs, select = select, tostring = tostring,
    type = type, string = string, table = table, math = math,
}

-- The Lua of one text line: literal pieces and holes alternate.
local function text_call(line)
    local pieces, at = {}, 1
    while true do
        local start, stop, hole = line:find("%$(%b{})", at)
        local literal = line:sub(at, (start or 0) - 1)
        pieces[#pieces + 1] = string.format("%q", literal)
        if not start then break end
        pieces[#pieces + 1] = "(" .. hole:sub(2, -2) .. ")"
        at = stop + 1
    end
    return "_line(" .. table.concat(pieces, ", ") .. ")"
end

-- Line n of the result is line n of the template, so that positions hold.
local function to_lua(text)
    local out = {}
    for line in text:gmatch("([^\n]*)\n") do
        local code = line:match("^%s*%%%s(.*)$")
        if code or line:find("^%s*%%$") then
            out[#out + 1] = code or ""
        else
            out[#out + 1] = text_call(line)
        end
    end
    return table.concat(out, "\n")
end

local function show(value)
    if type(value) == "string" then
        return value
    elseif math.type(value) == "integer" then
        return string.format("%d", value)
    elseif math.type(value) == "float" then
        return host.float(value)
    end
    error("a hole is " .. type(value) .. ", not a string or number", 4)
end

-- Puts one text line together from its literals (odd) and values (even).
local function join(pieces)
    local blanks = pieces[1]:match("^%s*")
    local bare, empty = pieces.n > 1, true
    for i = 1, pieces.n do
        local value = pieces[i]
        if i % 2 == 0 then
            value = show(value):gsub("\n", "\n" .. blanks)
            empty = empty and value == ""
        else
            bare = bare and not value:find("%S")
        end
        pieces[i] = value
    end
    if bare and empty then return nil end
    local line = table.concat(pieces, "", 1, pieces.n)
    return (line:gsub("[ \t]+\n", "\n"):gsub("[ \t]+$", ""))
end

-- What a template's Lua sees: names of run.env, lines go to run.lines.
local function environment(run)
    local own = {
        _line = function(...)
            run.lines[#run.lines + 1] = join({n = select("#", ...), ...})
        end,
    }
    return setmetatable(own, {__index = function(_, name)
        local value = run.env[name]
        if value == nil then value = BASE[name] end
        if value == nil then
            error("unknown name " .. tostring(name), 2)
        end
        return value
    end})
end

local function compile(name, text)
    if text:sub(-1) ~= "\n" then text = text .. "\n" end
    local run = {}
    local chunk, why = host.compile("=" .. name, to_lua(text),
                                    environment(run))
    if not chunk then error(why, 0) end
    return {chunk = chunk, run = run}
end

local compiled = {} -- by name, as last rendered

function M.render(name, text, env)
    local t = compiled[name]
    if not t or t.text ~= text then
        t = compile(name, text)
        t.text = text
        compiled[name] = t
    end
    t.run.env, t.run.lines = env, {}
    t.chunk()
    t.run.lines[#t.run.lines + 1] = ""
    return table.concat(t.run.lines, "\n")
end

return M
