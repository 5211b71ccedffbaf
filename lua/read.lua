-- read.lua: marked nodes into plain Lua values, by a schema that is data.
--
-- A type is a table {kind=...}; a bare string stands for {kind=string}:
--   string line int{min,max} float{min,finite} bool name symbol enum{names}
--   expr       -> {text=, node=, ast=}
--   list{of,min}        -> {v1, v2, ..., node=, at={node of each}}
--   one_or_list{of,min} -> the same; a lone value is a list of one
--   map{of,key,min}     -> {{name=, value=, node=<key's>}, ..., node=};
--                          key: the kind of its names, default "name"
--   record{fields,rest,what} -> {field=value, ..., node=, at={field=node}};
--       fields = {{name, type, required=true}, ...}, in their fixed order;
--       rest: the type of all other fields, collected as rest={as map}
--   choose{key,yes,no}  -> a map read as yes when it has that key, else as no
--   forms{scalar,list,map,what} -> by the node's own form
--   node       -> the node itself, for a later look
-- A value that is wrong is reported and left out (nil); reading goes on, so
-- that one run reports all. Entries that are wrong are missing from lists and
-- maps: whoever counts must ask host.errors() first.

local diag = require "diag"
local scalar = require "read.scalar"

local M = {}

local readers = {}

local function read(node, spec, label)
    if type(spec) == "string" then spec = {kind = spec} end
    local reader = readers[spec.kind] or scalar[spec.kind]
    return reader(node, spec, label)
end

-- More opened than closed: a flow collection cut the text at a comma.
local function is_open(text)
    local _, opened = text:gsub("[(%[{]", "")
    local _, closed = text:gsub("[)%]}]", "")
    return opened > closed
end

local function is_cut(node)
    return node.kind == "scalar" and node.plain and is_open(node.text)
end

local function is_empty(node)
    return node.kind == "scalar" and node.plain and node.text == ""
end

local function expects(node, label, what)
    local is = node.kind == "map" and "a mapping" or "a list"
    if node.kind == "scalar" then is = diag.show(node.text) end
    if is_empty(node) then
        diag.at(node, "%s has no value; it expects %s", label, what)
    else
        diag.at(node, "%s expects %s, not %s", label, what, is)
    end
    return nil
end

local function tell_cut(node, label, text)
    diag.at(node, "%s was cut at a comma; an expression that holds , [ ] "
            .. '{ } is quoted there: "%s"', label, text)
end

-- Index of the last map entry that belongs to the value begun at i, and the
-- value as it was meant.
local function cut_entries(node, i)
    if not is_cut(node[i].value) then return i end
    local text = node[i].value.text
    while is_open(text) and node[i + 1] and is_empty(node[i + 1].value) do
        i = i + 1
        text = text .. ", " .. node[i].key.text
    end
    return i, text
end

-- Reports map entries without a value; returns {[index]=true} of these and
-- of the values that a comma cut.
local function empty_entries(node)
    local bad = {}
    local i = 1
    while i <= #node do
        local key, value = node[i].key, node[i].value
        local last, text = cut_entries(node, i)
        if last > i then
            tell_cut(value, key.text, text)
            for j = i, last do bad[j] = true end
        elseif is_empty(value) then
            bad[i] = true
            diag.at(key, '%s has no value; write %s: "..." (an expression '
                    .. "that holds , [ ] { } must be quoted)",
                    diag.show(key.text), key.text)
        end
        i = last + 1
    end
    return bad
end

-- The same for list items.
local function cut_items(node, i)
    if not is_cut(node[i]) then return i end
    local text = node[i].text
    for j = i + 1, #node do
        if node[j].kind ~= "scalar" then break end
        text = text .. ", " .. node[j].text
        if not is_open(text) then return j, text end
    end
    return i
end

function readers.list(node, spec, label)
    if node.kind ~= "seq" then return expects(node, label, "a list [...]") end
    local list = {node = node, at = {}}
    local i = 1
    while i <= #node do
        local last, text = cut_items(node, i)
        local item = string.format("%s[%d]", label, i)
        if last > i then
            tell_cut(node[i], item, text)
        else
            local value = read(node[i], spec.of, item)
            if value ~= nil then
                list[#list + 1] = value
                list.at[#list] = node[i]
            end
        end
        i = last + 1
    end
    if #node < (spec.min or 0) then
        diag.at(node, "%s expects at least %d, not an empty list", label,
                spec.min)
    end
    return list
end

function readers.one_or_list(node, spec, label)
    if node.kind == "seq" then return readers.list(node, spec, label) end
    local value = read(node, spec.of, label)
    if value == nil then return nil end
    return {value, node = node, at = {node}}
end

function readers.map(node, spec, label)
    if node.kind ~= "map" then
        return expects(node, label, "a mapping {name: ...}")
    end
    local map = {node = node}
    local bad = empty_entries(node)
    for i, entry in ipairs(node) do
        if not bad[i] then
            local name = read(entry.key, spec.key or "name", "name")
            local value = read(entry.value, spec.of,
                               label .. "." .. entry.key.text)
            if name and value ~= nil then
                map[#map + 1] = {name = name, value = value,
                                 node = entry.key}
            end
        end
    end
    if #node < (spec.min or 0) then
        diag.at(node, "%s expects at least %d, not an empty mapping", label,
                spec.min)
    end
    return map
end

local function field_names(fields)
    local names = {}
    for i, field in ipairs(fields) do names[i] = field[1] end
    return names
end

-- One entry of a record into `out`.
local function read_field(entry, spec, out, label)
    local name = entry.key.text
    for _, field in ipairs(spec.fields) do
        if field[1] == name then
            out.at[name] = entry.value
            out[name] = read(entry.value, field[2], name)
            return
        end
    end
    if not spec.rest then
        return diag.unknown(entry.key, "field", name,
                            field_names(spec.fields), " of " .. label)
    end
    local key = read(entry.key, "name", "argument")
    local value = read(entry.value, spec.rest, name)
    if key and value ~= nil then
        out.rest[#out.rest + 1] = {name = key, value = value,
                                   node = entry.key}
    end
end

function readers.record(node, spec, label)
    if node.kind ~= "map" then
        return expects(node, label, "a mapping with "
                       .. diag.names(field_names(spec.fields)))
    end
    local out = {node = node, at = {}, rest = spec.rest and {}}
    local bad, given = empty_entries(node), {}
    for i, entry in ipairs(node) do
        given[entry.key.text] = true
        if not bad[i] then
            read_field(entry, spec, out, label)
        end
    end
    for _, field in ipairs(spec.fields) do
        if field.required and not given[field[1]] then
            diag.at(node, "%s lacks %s", label, field[1])
        end
    end
    return out
end

function readers.choose(node, spec, label)
    for _, entry in ipairs(node.kind == "map" and node or {}) do
        if entry.key.text == spec.key then
            return read(node, spec.yes, label)
        end
    end
    return read(node, spec.no, label)
end

function readers.node(node)
    return node
end

local FORM = {scalar = "scalar", seq = "list", map = "map"}

function readers.forms(node, spec, label)
    local form = spec[FORM[node.kind]]
    if not form then return expects(node, label, spec.what) end
    return read(node, form, label)
end

-- A list without its marks.
function M.plain(list)
    return table.move(list, 1, #list, 1, {})
end

-- The value of node by a type of the list above, or nil after reporting.
-- label: the field's name in messages, "causal".
M.value = read

-- Reports fields of a record that do not stand in the schema's order.
function M.check_order(node, spec)
    local rank, last = {}, 0
    for i, field in ipairs(spec.fields) do rank[field[1]] = i end
    for _, entry in ipairs(node) do
        local r = rank[entry.key.text]
        if r and r < last then
            return diag.at(entry.key, "%s stands after %s; the fields' order "
                           .. "is: %s", entry.key.text,
                           spec.fields[last][1],
                           table.concat(field_names(spec.fields), ", "))
        end
        last = r or last
    end
end

return M
