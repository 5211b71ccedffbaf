-- census.lua: the keys that models need, found by planning their calls dry.
--
-- census.calls(p) -> {{model=, note=, call=, text=}, ...}: every call of every
--   model at every combination of the census's `with` values, those past
--   max_elements left out; p: see project.lua. Errors go to the sink.
-- census.of_file(p, path) -> the same of one config.json
-- census.fill(p): gives ladders the exact sizes (their census cells) that the
--   calls need on any target and that are not an edge of the lattice.
-- census.keys(handle, arch, calls, keep) -> {[key text] = entry}, as
--   lattice.keys gives; sets call.keys = {key texts} on each call.

local callm = require "call"
local diag = require "diag"
local json = require "json"
local lattice = require "lattice"

local M = {}

-- A model's config.json: {path=, constants={its whole numbers}, other={the
-- rest}}.
local function read_config(path, node)
    local text, why = host.read(path)
    if not text then
        host.error(node and node.path or path, node and node.line or 0,
            node and node.col or 0, ("model config %s: %s"):format(path, why))
        return nil
    end
    local value, problem = json.parse(text)
    if problem then
        host.error(path, problem.line, problem.col, problem.text)
        return nil
    elseif type(value) ~= "table" or json.is_array(value)
        or value == json.null then
        host.error(path, 1, 1, "expected an object: {\"vocab_size\": 32000}")
        return nil
    end
    local out = {path = path, constants = {}, other = {}}
    for name, v in pairs(value) do
        local into = math.type(v) == "integer" and out.constants or out.other
        into[name] = v
    end
    return out
end

local function each_combination(with, f)
    local values = {}
    local function walk(i)
        if i > #with then
            f(values)
            return
        end
        for _, value in ipairs(with[i].value) do
            values[with[i].name] = value
            walk(i + 1)
        end
    end
    walk(1)
end

-- Of the call's largest tensor; exact up to 2^53.
local function elements(call)
    local most = 0
    for _, tensor in ipairs(call.tensors) do
        local n = 1.0
        for _, size in ipairs(tensor and tensor.shape or {}) do
            n = n * size
        end
        most = math.max(most, n)
    end
    return most
end

-- A name of the text that the config has, but not as a whole number.
local function misfit(text, config)
    for name in text:gmatch("[%a_][%w_]*") do
        if config.other[name] ~= nil then
            return name
        end
    end
end

local function wrong_call(entry, name, config, why)
    local field = misfit(entry.text, config)
    if field then
        host.error(config.path, 0, 0, ("%s is not a whole number of 64 bits, "
            .. "and a call needs it: %s"):format(field, entry.text))
    else
        diag.in_expr(entry.node, why.at, "%s: %s", name, why.text)
    end
end

local function add_call(p, census, entry, name, config, constants, out, seen)
    local call, why = callm.parse(entry.text, p.model, p.handle, constants)
    if not call then
        wrong_call(entry, name, config, why)
        return
    end
    local text = callm.text(call, p.model)
    local id = name .. "\t" .. entry.note .. "\t" .. text
    if elements(call) <= (census.max_elements or math.maxinteger)
        and not seen[id] then
        seen[id] = true
        out[#out + 1] = {
            model = name, note = entry.note, call = call, text = text,
            node = entry.node,
        }
    end
end

-- Calls of one config.json under one census.
local function of_config(p, census, name, config, out)
    local seen = {}
    for _, entry in ipairs(census.calls) do
        each_combination(census.with or {}, function(values)
            local constants = {}
            for k, v in pairs(config.constants) do
                constants[k] = v
            end
            for k, v in pairs(values) do
                constants[k] = v
            end
            add_call(p, census, entry, name, config, constants, out, seen)
        end)
    end
end

function M.calls(p)
    local out = {}
    for _, census in pairs(p.model.censuses) do
        for _, m in ipairs(census.models) do
            local config = read_config(m.path, census.node)
            if config then
                of_config(p, census, m.name, config, out)
            end
        end
    end
    return out
end

-- A config.json given by hand, under every census of the specs; called by its
-- name where a census has the same.
function M.of_file(p, path)
    local out = {}
    local config, name = read_config(path), path
    local text = host.read(path)
    for _, census in pairs(config and p.model.censuses or {}) do
        for _, m in ipairs(census.models) do
            name = host.read(m.path) == text and m.name or name
        end
    end
    for _, census in pairs(config and p.model.censuses or {}) do
        of_config(p, census, name, config, out)
    end
    return out
end

-- A call as planned for a profile.
local function on(call, arch)
    return {op = call.op, tensors = call.tensors, attrs = call.attrs,
            arch = arch}
end

local function plan(handle, arch, entry)
    local launches, why = handle:plan(on(entry.call, arch))
    if not launches then
        diag.at(entry.node, "%s: %s: %s", entry.model, entry.text, why)
    end
    return launches or {}
end

local function is_edge(ladder, size)
    for _, edge in ipairs(ladder.edges) do
        if edge == size then
            return true
        end
    end
    return false
end

-- Adds the sizes that a call needs on a target and no edge holds.
local function note_sizes(p, target, entry, sizes)
    for _, launch in ipairs(plan(p.handle, target.arch, entry)) do
        for i, axis in ipairs(p.model.axes[launch.op]) do
            local size, name = launch.sizes[i], axis.ladder.name
            if not is_edge(axis.ladder, size) then
                sizes[name] = sizes[name] or {}
                sizes[name][size] = true
            end
        end
    end
end

function M.fill(p)
    local sizes = {}
    for _, target in ipairs(p.targets) do
        for _, entry in ipairs(p.calls) do
            note_sizes(p, target, entry, sizes)
        end
    end
    for i, ladder in ipairs(p.model.ladders) do
        ladder.census = {}
        for size in pairs(sizes[ladder.name] or {}) do
            table.insert(ladder.census, size)
        end
        p.model.tables.ladders[i].census = ladder.census
    end
end

function M.keys(handle, arch, calls, keep)
    local out = {}
    for _, entry in ipairs(calls) do
        entry.keys = {}
        for _, launch in ipairs(plan(handle, arch, entry)) do
            local probe = launch.probes[1] -- none: beyond the ladder
            local key = probe and probe.key or launch.key
            table.insert(entry.keys, key)
            if probe and keep(launch.op) and not out[key] then
                out[key] = lattice.entry(launch, probe, on(entry.call, arch))
            end
        end
    end
    return out
end

return M
