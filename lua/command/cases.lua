-- command/cases.lua: kiln cases: calls that try every kernel of out/, in lines
-- as command/candidates.lua writes them.

local domain = require "domain"
local kernels = require "kernels"
local project = require "project"

local CALLS = 4 -- of a kernel

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

local function add(p, lines)
    local state = project.resolve(p)
    local keys = served_keys(state)
    for _, k in ipairs(state.kernels) do
        local calls = domain.few(p, keys[k.symbol], CALLS)
        for _, isa in ipairs(p.isas) do
            lines[#lines + 1] = table.concat({"kernel", p.tier, isa, k.symbol,
                kernels.hash(k), k.op.name, k.config_text, "0",
                kernels.limits(k), table.concat(calls, "; ")}, "\t")
        end
    end
end

return function(options)
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local lines = {"# kiln cases: see lua/command/candidates.lua"}
    for _, target in ipairs(p.targets) do
        add(target, lines)
    end
    return {
        status = host.errors() > 0 and 1 or 0, trees = {},
        text = table.concat(lines, "\n") .. "\n",
    }
end
