-- out/cells.lua: resolved keys as the groups and cells of the look-up.
--
-- by_op(keys) -> {[op name] = its keys, in their order}
-- of_state(state, keys, op, isas, devices) -> kernels, groups for out/keys.lua
--   from what is certified (see resolve.lua); keys: the op's
-- of_candidates(keys, all, isas) -> the same with every candidate in place:
--   the first one serves a key until another is forced
-- Groups are sorted by their packed key, cells by theirs.

local kernels_of = require "kernels"

local M = {}

local function packed_before(a, b)
    return math.ult(a.entry.packed, b.entry.packed)
end

local function cell_before(a, b)
    for i, position in ipairs(a.entry.positions) do
        if position ~= b.entry.positions[i] then
            return position < b.entry.positions[i]
        end
    end
    return false
end

local function by_symbol(a, b)
    return a.symbol < b.symbol
end

-- Puts a cell into its group's list, the group made on first sight.
local function add(groups, entry, cell)
    local group = groups[entry.group]
    if not group then
        group = {entry = entry, cells = {}, configs = {}, seen = {}}
        groups[entry.group] = group
    end
    cell.entry = entry
    table.insert(group.cells, cell)
    if cell.kernel and not group.seen[cell.kernel.symbol] then
        group.seen[cell.kernel.symbol] = true
        table.insert(group.configs, cell.kernel)
    end
    return group
end

local function finish(groups)
    local out = {}
    for _, group in pairs(groups) do
        table.sort(group.cells, cell_before)
        table.sort(group.configs, by_symbol)
        out[#out + 1] = group
    end
    table.sort(out, packed_before)
    return out
end

local function device_index(devices, name)
    for i, known in ipairs(devices) do
        if known == name then
            return i - 1
        end
    end
    devices[#devices + 1] = name
    return #devices - 1
end

function M.by_op(keys)
    local out = {}
    for _, entry in ipairs(keys) do
        out[entry.op] = out[entry.op] or {}
        table.insert(out[entry.op], entry)
    end
    return out
end

function M.of_state(state, keys, op, isas, devices)
    local out, kernels = {}, {}
    for _, k in ipairs(state.kernels) do
        if k.op.name == op then
            k.error = {}
            for isa, evidence in pairs(k.evidence) do
                k.error[isa] = evidence.error
            end
            table.insert(kernels, k)
        end
    end
    table.sort(kernels, by_symbol)
    for _, isa in ipairs(isas) do
        local groups = {}
        for _, entry in ipairs(keys) do
            local served = entry.served[isa]
            if served then
                add(groups, entry, {
                    kernel = served.kernel, us = served.row.us,
                    forced = served.row.reach == "forced",
                    device = device_index(devices, served.row.device),
                })
            elseif entry.stale[isa] then
                add(groups, entry, {stale = true})
            end
        end
        out[isa] = finish(groups)
    end
    return kernels, out
end

local function first_serving(list, entry)
    for _, k in ipairs(list) do
        if kernels_of.serves(k, entry) then
            return k
        end
    end
end

function M.of_candidates(keys, candidates, isas)
    local out, kernels, seen = {}, {}, {}
    local groups = {}
    for _, entry in ipairs(keys) do
        local list = candidates[entry.group]
        local group = add(groups, entry, {kernel = first_serving(list, entry)})
        group.configs = {table.unpack(list)}
        for _, k in ipairs(list) do
            if not seen[k.symbol] then
                seen[k.symbol] = true
                table.insert(kernels, k)
            end
        end
    end
    table.sort(kernels, by_symbol)
    local finished = finish(groups)
    for _, isa in ipairs(isas) do
        out[isa] = finished
    end
    return kernels, out
end

return M
