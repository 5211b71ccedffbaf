-- out/cells.lua: resolved keys as the groups and runs of the look-up.
--
-- by_op(keys) -> {[op name] = its keys, in their order}
-- of_state(state, keys, op, isas, devices) -> kernels, groups for out/keys.lua
--   from what is certified (see resolve.lua); keys: the op's
-- of_candidates(keys, all, isas) -> the same with every candidate in place:
--   the first one serves a key until another is forced
-- Groups are sorted by their packed key, runs by their first cell. A run is
-- cells at consecutive positions on axis 0 that differ in nothing else.

local kernels_of = require "kernels"

local M = {}

local function packed_before(a, b)
    return math.ult(a.entry.packed, b.entry.packed)
end

-- As their packed cells: the first axis is the least significant.
local function cell_before(a, b)
    local p, q = a.entry.positions, b.entry.positions
    for i = #p, 1, -1 do
        if p[i] ~= q[i] then
            return p[i] < q[i]
        end
    end
    return false
end

-- Whether a cell, the next in order, is the run's next. Positions of a census
-- have a bit of their own: no lattice position comes just before one.
local function continues(run, cell)
    local p, q = run.entry.positions, cell.entry.positions
    if q[1] ~= run.last + 1 or run.kernel ~= cell.kernel
        or run.forced ~= cell.forced or run.stale ~= cell.stale
        or run.device ~= cell.device then
        return false
    end
    for i = 2, #p do
        if p[i] ~= q[i] then
            return false
        end
    end
    return true
end

-- Sorted cells as runs: each run is its first cell, with last=.
local function runs_of(list)
    local out = {}
    local run
    for _, cell in ipairs(list) do
        if run and run.last and continues(run, cell) then
            run.last = cell.entry.positions[1]
        else
            run = cell
            run.last = cell.entry.positions[1] -- nil: the op has no axes
            out[#out + 1] = run
        end
    end
    return out
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
        group.runs = runs_of(group.cells)
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
                    kernel = served.kernel,
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
