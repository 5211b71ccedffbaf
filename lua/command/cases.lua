-- command/cases.lua: kiln cases: calls that try every kernel of out/, each text
-- once, in lines as command/candidates.lua writes them.

local domain = require "domain"
local kernels = require "kernels"
local project = require "project"

local CALLS = 1 -- of a kernel

-- The keys that each kernel serves, by its symbol.
local function served_keys(state)
    local out = {}
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(state.isas) do
            local served = entry.served[isa]
            if served then
                local list = out[served.kernel.symbol] or {}
                list[#list + 1] = list[#list] ~= entry and entry or nil
                out[served.kernel.symbol] = list
            end
        end
    end
    return out
end

-- A few calls of k's keys, or where those are all large, of its group's.
local function calls_of(p, state, k, keys)
    local out = domain.few(p, keys, CALLS)
    if #out > 0 then
        return out
    end
    local group = {}
    for _, entry in ipairs(state.keys) do
        group[#group + 1] = entry.group == k.group and entry or nil
    end
    return domain.few(p, group, CALLS)
end

local function add(p, lines, seen)
    local state = project.resolve(p)
    local keys = served_keys(state)
    for _, k in ipairs(state.kernels) do
        local id = kernels.path(k) .. " " .. k.symbol
        local calls = seen[id] and {}
            or calls_of(p, state, k, keys[k.symbol])
        for _, isa in ipairs(seen[id] and {} or p.isas) do
            lines[#lines + 1] = table.concat({"kernel", p.tier, isa, k.symbol,
                kernels.hash(k), k.op.name, k.config_text, "0",
                kernels.limits(k), table.concat(calls, "; ")}, "\t")
        end
        seen[id] = true
    end
end

return function(options)
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local lines = {"# kiln cases: see lua/command/candidates.lua"}
    local seen = {}
    for _, target in ipairs(p.targets) do
        add(target, lines, seen)
    end
    return {
        status = host.errors() > 0 and 1 or 0, trees = {},
        text = table.concat(lines, "\n") .. "\n",
    }
end
