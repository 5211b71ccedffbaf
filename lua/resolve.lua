-- resolve.lua: declared keys meet their certificates.
--
-- resolve.run(target, records) -> state: {model=, tier=, isas=, records=} and
--   keys = sorted list of declared entries (see lattice.lua), each with
--     entry.served[isa] = {kernel=, row=, evidence=} where certified,
--     entry.stale[isa] = cause where a certificate no longer fits
--   kernels = sorted list of kernels that some key uses, each with
--     kernel.evidence[isa]
--   orphans = {{key=, isa=, op=, cause=}}: certificates without a key

local kernels = require "kernels"

local M = {}

-- Candidates of a group by config text, made once.
local function candidates_of(state, entry)
    local known = state.groups[entry.group]
    if not known then
        known = {}
        for _, k in ipairs(kernels.candidates(state.model, entry,
            state.tier)) do
            known[k.config_text] = k
        end
        state.groups[entry.group] = known
    end
    return known
end

local function resolve(state, entry, isa)
    local row = state.records.keys[isa .. "\t" .. entry.key]
    if not row then
        return nil
    elseif row.ranges ~= entry.ranges then
        return nil, "the bucket moved"
    end
    local k = candidates_of(state, entry)[row.config]
    if not k or not kernels.serves(k, entry) then
        return nil, "its config is no longer a candidate"
    end
    local evidence = state.records.kernels[isa .. "\t" .. k.symbol]
    if not evidence then
        return nil, "its kernel has no certificate"
    elseif evidence.hash ~= kernels.hash(k) then
        return nil, "its kernel changed"
    end
    return {kernel = k, row = row, evidence = evidence}
end

local function use(state, served, isa)
    local k = served.kernel
    k.evidence = k.evidence or {}
    k.evidence[isa] = served.evidence
    state.used[k.symbol] = k
end

local function resolve_all(state, isas)
    for _, entry in ipairs(state.keys) do
        entry.served, entry.stale = {}, {}
        for _, isa in ipairs(isas) do
            local served, cause = resolve(state, entry, isa)
            entry.served[isa], entry.stale[isa] = served, cause
            if served then
                use(state, served, isa)
            end
        end
    end
end

local function find_orphans(state, declared, keep)
    for _, row in pairs(state.records.keys) do
        if not declared[row.key] and keep(row.op) then
            table.insert(state.orphans, {
                key = row.key, isa = row.isa, op = row.op,
                cause = "no longer declared",
            })
        end
    end
end

function M.run(p, records)
    local state = {
        model = p.model, records = records, tier = p.tier, isas = p.isas,
        keys = {}, groups = {}, used = {}, kernels = {}, orphans = {},
    }
    for _, entry in pairs(p.keys) do
        table.insert(state.keys, entry)
    end
    resolve_all(state, p.isas)
    for _, k in pairs(state.used) do
        table.insert(state.kernels, k)
    end
    find_orphans(state, p.keys, p.keep)
    return state
end

return M
