-- expr_scope.lua: what a name means in an expression.
--
-- scope = {lets={name->index}, attrs={name->{index=, type=, choices=}},
--   tensors={name->index}, loops={name->index}, arch={field->index},
--   config={name->index}, ladders={name->index},
--   constants={name->integer|float|boolean},
--   functions={name->{params=, body=tree}}}; any may be missing. Names are
--   looked for in this order; dtypes (f32: its kiln_dtype) come last.
--
-- find(scope, name) -> {op=, i=, f=, type=, attr=} | {wrong=text} | nil
-- all(scope, extra) -> sorted names, extra (a list) among them
-- meant(name, list) -> "; did you mean x?" or "; known: ..." or ""

local edit = require "edit"
local schema = require "schema"

local M = {}

-- ORDER: kiln_dtype, in which the first of these is 1.
local DTYPE = {}
for i, name in ipairs(schema.dtypes) do
    DTYPE[name] = i
end

local function slot(op, type)
    return function(index)
        return {op = op, i = index, type = type}
    end
end

local function attr_value(attr)
    return {op = "ATTR", i = attr.index, type = attr.type, attr = attr}
end

local function constant(value)
    if type(value) == "boolean" then
        return {op = "BOOL", i = value and 1 or 0, type = "bool"}
    elseif math.type(value) == "float" then
        return {op = "FLOAT", f = value, type = "float"}
    end
    return {op = "INT", i = value, type = "int"}
end

-- In the order of resolution: a field of the scope and what its entries are.
local FIELDS = {
    {"lets", slot("LET", "any")},
    {"attrs", attr_value},
    {"tensors", slot("TENSOR", "tensor")},
    {"loops", slot("LOOP", "int")},
    {"config", slot("CONFIG", "int")},
    {"ladders", function()
        return {wrong = "is a ladder: write bucket(%s, v)"}
    end},
    {"constants", constant},
    {"functions", function()
        return {wrong = "is a function: write %s(...)"}
    end},
}

function M.find(scope, name)
    for _, field in ipairs(FIELDS) do
        local entry = (scope[field[1]] or {})[name]
        if entry ~= nil then
            return field[2](entry)
        end
    end
    if DTYPE[name] then
        return {op = "INT", i = DTYPE[name], type = "int"}
    elseif (scope.arch or {})[name] then
        return {wrong = "is a field of the arch profile: write arch.%s"}
    end
    return nil
end

function M.keys(map)
    local list = {}
    for name in pairs(map or {}) do
        list[#list + 1] = name
    end
    table.sort(list)
    return list
end

function M.all(scope, extra)
    local names = {}
    for _, name in ipairs(extra) do
        names[name] = true
    end
    for _, field in ipairs(FIELDS) do
        for name in pairs(scope[field[1]] or {}) do
            names[name] = true
        end
    end
    return M.keys(names)
end

function M.meant(name, list)
    local near = edit.near(name, list)
    if near then
        return ("; did you mean %s?"):format(near)
    elseif #list == 0 then
        return ""
    end
    local shown = table.concat(list, ", ", 1, math.min(#list, 12))
    return ("; known: %s%s"):format(shown, #list > 12 and ", ..." or "")
end

return M
