-- spec/attr.lua: an op's attributes.
-- Reads the map of `attrs:`; returns the records that spec.lua describes.

local diag = require "diag"
local names = require "spec.names"
local read = require "read"
local schema = require "schema"

local M = {}

-- What a key holds of a baked attribute. ORDER: kiln_group_pack in key.h.
local BAKED_INT = {kind = "int", min = -128, max = 127}
local BAKED_CHOICES = 16

-- Reads a node as a value of the attribute's type.
function M.value(attr, node, label)
    if attr.type == "int" and attr.baked then
        return read.value(node, BAKED_INT, label)
    end
    if attr.type ~= "string" then return read.value(node, attr.type, label) end
    local spec = {kind = "enum", names = attr.choices or {}}
    return read.value(node, spec, label)
end

-- Choices stand in keys and symbols: plain words, distinct once cleaned.
local function read_choices(attr, list)
    local cleaned = {}
    for i, choice in ipairs(list) do
        local clean = choice:lower():gsub("[^a-z0-9]", "_")
        if #choice > 40 or not choice:find("^[%w][%w_.-]*$") then
            diag.at(list.at[i], "choice %s: a choice is at most 40 letters, "
                    .. "digits, _ . or -, a letter or digit first",
                    diag.show(choice))
        elseif cleaned[clean] then
            diag.at(list.at[i], "choice %s reads as %s, like choice %s: "
                    .. "rename one", choice, clean, cleaned[clean])
        end
        cleaned[clean] = choice
    end
    attr.choices = read.plain(list)
end

local function check_type(attr, value)
    local place = value.at.choices
    if attr.type == "string" and not place then
        diag.at(attr.node, "attribute %s of type string lacks choices: "
                .. "[...]", attr.name)
    elseif attr.type and attr.type ~= "string" and place then
        diag.at(place, "choices belong to type string, and %s is of type %s",
                attr.name, attr.type)
    end
    if attr.choices and attr.baked and #attr.choices > BAKED_CHOICES then
        diag.at(place, "a baked attribute has at most %d choices, not %d",
                BAKED_CHOICES, #attr.choices)
    end
    if attr.type == "float" and attr.baked then
        diag.at(value.at.baked, "a float cannot be baked: its values cannot "
                .. "be counted; leave %s dynamic", attr.name)
    end
end

-- Values at which kernels are judged besides the default, in place of those of
-- domain.lua.
local function read_tried(attr, list, place)
    if attr.baked or attr.type ~= "int" and attr.type ~= "float" then
        diag.at(place, "tried belongs to a number that is not baked, and %s "
                .. "is %s", attr.name, attr.baked and "baked"
                or "of type " .. attr.type)
        return
    end
    attr.tried = {}
    for i, node in ipairs(list) do
        attr.tried[#attr.tried + 1] =
            M.value(attr, node, string.format("tried[%d]", i))
    end
end

local function read_attr(entry)
    local value = entry.value
    local attr = {
        name = entry.name, node = entry.node, type = value.type,
        baked = value.baked or false, doc = value.doc,
        required = value.at.default == nil,
    }
    if value.choices then read_choices(attr, value.choices) end
    check_type(attr, value)
    local can_read = attr.type and (attr.type ~= "string" or attr.choices)
    if value.default and can_read then
        attr.default = M.value(attr, value.default, "default")
    end
    if value.tried and attr.type then
        read_tried(attr, value.tried, value.at.tried)
    end
    return attr
end

-- map: the value of `attrs:`, may be nil; scope gets the names.
function M.read(map, scope)
    local attrs = {}
    for _, entry in ipairs(map or {}) do
        if names.take_argument(scope, entry.name, "an attribute",
                               entry.node) then
            attrs[#attrs + 1] = read_attr(entry)
        end
    end
    if map then
        names.check_count(map, schema.most.attrs, "attributes")
    end
    return attrs
end

return M
