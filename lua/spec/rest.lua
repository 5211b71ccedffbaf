-- spec/rest.lua: the files beside the ops: tilings, arch profiles, censuses,
-- ladders and budget. Each builder takes a node, its entry {spec=, path=,
-- root=} and options; returns the record that spec.lua describes, or nil.

local diag = require "diag"
local read = require "read"
local schema = require "schema"

local M = {}

-- The record of a file, with its place; nil after reporting.
local function open(kind, node, entry, options)
    local value = read.value(node, schema[kind], kind)
    if value and options.order then read.check_order(node, schema[kind]) end
    return value, value and {
        name = value[kind], spec = entry.spec, path = entry.path,
        root = entry.root, node = node,
    }
end

local function check_distinct(list, label)
    local seen = {}
    for i, value in ipairs(list) do
        if seen[value] then
            diag.at(list.at[i], "%s: %s stands twice in the list", label,
                    tostring(value))
        end
        seen[value] = true
    end
end

-- Kernel names hold the initials of fields where there are several.
local function check_initials(config)
    local seen = {}
    for _, field in ipairs(#config > 1 and config or {}) do
        local initial = field.name:sub(1, 1)
        if seen[initial] then
            diag.at(field.node, "field %s begins as %s does; kernels are named "
                    .. "by initials: take another name", field.name,
                    seen[initial])
        end
        seen[initial] = field.name
    end
end

local function read_variant(entry)
    local config = {}
    for i, field in ipairs(entry.value.config or {}) do
        check_distinct(field.value, field.name)
        config[i] = {name = field.name, values = read.plain(field.value),
                     node = field.node}
    end
    check_initials(config)
    return {name = entry.name, node = entry.node, config = config,
            require = entry.value.require}
end

function M.tiling(node, file, options)
    local value, out = open("tiling", node, file, options)
    if not value then return nil end
    out.tiers = {}
    for i, tier in ipairs(value.tiers or {}) do
        local known = false
        for _, name in ipairs(schema.tiers) do
            known = known or name == tier.name
        end
        if not known then
            diag.unknown(tier.node, "tier", tier.name, schema.tiers)
        end
        local variants = {}
        for j, entry in ipairs(tier.value) do
            variants[j] = read_variant(entry)
        end
        out.tiers[i] = {name = tier.name, node = tier.node,
                        variants = variants}
    end
    return out
end

function M.arch(node, file, options)
    local value, out = open("arch", node, file, options)
    if not value then return nil end
    out.tier = value.tier
    check_distinct(value.isa or {}, "isa")
    out.isa = read.plain(value.isa or {})
    out.chip, out.capability = value.chip, value.capability
    out.fields = value.fields or {}
    out.field = {}
    for _, field in ipairs(out.fields) do
        out.field[field.name] = field.value
    end
    return out
end

-- The config of a model is a file of the census folder itself.
local function read_model(value, file)
    local name = value.config
    if not name then return value end
    if not name:find("^[%w_][%w_.-]*%.json$") then
        diag.at(value.at.config, "config expects a .json file of this "
                .. "folder, not %s", diag.show(name))
        return value
    end
    local folder = file.path:match("^(.*)/[^/]*$")
    value.path = folder .. "/" .. name
    local known = host.list(folder) or {}
    local jsons = {}
    for _, other in ipairs(known) do
        if other == name then return value end
        if other:find("%.json$") then jsons[#jsons + 1] = other end
    end
    diag.unknown(value.at.config, "file", name, jsons, " in " .. folder)
    return value
end

function M.census(node, file, options)
    local value, out = open("census", node, file, options)
    if not value then return nil end
    out.models, out.calls = {}, {}
    local seen = {}
    for i, model in ipairs(value.models or {}) do
        out.models[i] = read_model(model, file)
        if model.name and seen[model.name] then
            diag.at(model.at.name, "model %s stands twice", model.name)
        end
        seen[model.name or ""] = true
    end
    out.with = value.with or {}
    for _, entry in ipairs(out.with) do
        check_distinct(entry.value, entry.name)
    end
    out.max_elements = value.max_elements
    for i, call in ipairs(value.calls or {}) do
        out.calls[i] = {text = call.call, node = call.at.call,
                        note = call.note}
    end
    return out
end

local SPAN = 64 -- above it no bucket spans more than a factor 2

local function check_edges(edges)
    local before = 0
    for i, edge in ipairs(edges) do
        local node = edges.at[i]
        if edge <= before then
            diag.at(node, "edge %d is not above the edge before it, %d",
                    edge, before)
        elseif i == 1 and edge > SPAN then
            diag.at(node, "bucket 1..%d spans more than a factor 2 above "
                    .. "%d; the first edge is at most %d", edge, SPAN, SPAN)
        elseif edge > SPAN and edge - before > before then
            diag.at(node, "bucket %d..%d spans more than a factor 2; add an "
                    .. "edge of at most %d", before + 1, edge,
                    math.max(2 * before, SPAN))
        end
        before = edge
    end
    if #edges > schema.most.edges then
        diag.at(edges.node, "a ladder has at most %d edges",
                schema.most.edges)
    end
end

-- The ladders of a file, in its order.
function M.buckets(node, file)
    local value = read.value(node, schema.buckets, "buckets")
    local ladders = {}
    for i, entry in ipairs(value and value.ladders or {}) do
        check_edges(entry.value)
        ladders[i] = {name = entry.name, edges = read.plain(entry.value),
                      node = entry.node, spec = file.spec, path = file.path,
                      root = file.root}
    end
    return ladders
end

-- The bounds of a file as {name={value=, node=}}.
function M.budget(node)
    local value = read.value(node, schema.budget, "budget")
    local given, bounds = value and value.budget or {}, {}
    for _, field in ipairs(schema.budget.fields[1][2].fields) do
        local name = field[1]
        bounds[name] = given[name] and {value = given[name],
                                        node = given.at[name]}
    end
    return bounds
end

return M
