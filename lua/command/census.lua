-- command/census.lua: kiln census FILE...: the calls that models make, the
-- keys they need, and whether those are certified. FILE: a model's
-- config.json, planned under the calls of all census specs.

local census = require "census"
local kernels = require "kernels"
local project = require "project"

local function gather(p)
    local out = {}
    for _, path in ipairs(p.options.args) do
        for _, entry in ipairs(census.of_file(p, path)) do
            out[#out + 1] = entry
        end
    end
    return out
end

local function state_of(by_key, key, isa)
    local entry = by_key[key]
    if not entry then
        return "undeclared"
    elseif entry.served[isa] then
        return "certified"
    end
    return entry.stale[isa] and "stale" or "uncertified"
end

local function limits_of(state, by_key, key)
    local entry = by_key[key]
    local k = entry and kernels.candidates(state.model, entry,
        state.tier)[1]
    return k and kernels.limits(k) or ""
end

-- The state of a call in the tier's best ISA: its worst key's.
local function worst(p, by_key, keys)
    for _, key in ipairs(keys) do
        local s = state_of(by_key, key, p.isas[#p.isas])
        if s ~= "certified" then
            return s
        end
    end
    return "certified"
end

-- Adds a line a call; how many are not certified.
local function add(p, calls, out)
    local state, by_key, missing = project.resolve(p), {}, 0
    census.keys(p.handle, p.arch, calls, p.keep)
    for _, entry in ipairs(state.keys) do
        by_key[entry.key] = entry
    end
    for _, entry in ipairs(calls) do
        local s = worst(p, by_key, entry.keys)
        missing = missing + (s == "certified" and 0 or 1)
        out[#out + 1] = table.concat({entry.model, entry.note, entry.text,
            table.concat(entry.keys, "; "),
            limits_of(state, by_key, entry.keys[#entry.keys] or ""), s,
            p.tier}, "\t")
    end
    return missing
end

return function(options)
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local calls, missing = gather(p), 0
    local out = {"# model\tnote\tcall\tkeys\tlimits\tstate\ttier"}
    for _, target in ipairs(p.targets) do
        missing = missing + add(target, calls, out)
    end
    if host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    return {
        status = missing > 0 and 3 or 0, trees = {},
        text = table.concat(out, "\n") .. "\n",
    }
end
