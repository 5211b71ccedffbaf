-- domain.lua: the calls at which a kernel's correctness is judged: sizes at
-- the ends of every bucket it may serve, primes, tails and 1, in its layout,
-- and dynamic attributes at their defaults and other values.
--
-- domain.calls(p, entries, bound) -> list of call texts; entries: declared keys
--   of one group (see lattice.lua); bound: WHOLE by default
-- domain.few(p, entries, n) -> n of them at most, of few elements where the
--   kernel serves such, spread over the domain

local callm = require "call"
local lattice = require "lattice"

local M = {}

-- A call aims at so many elements and never takes more than `most`: what a
-- kernel does at larger sizes is more rows and blocks of the same.
local WHOLE = {aim = 32768, most = 524288}
local SMALL = {aim = 2048, most = 8192}
-- Above this, an axis is tried at its buckets' ends alone.
local FINE = 16384

-- What dynamic attributes are tried at besides their defaults, a value a call,
-- where their specs say nothing else: a factor that rounds, one that overflows,
-- 0, units of both signs, and near both ends of float. No list with the default
-- is a multiple of three long, as offsets go: see shift.
local TRIED = {
    float = {-0.7, 2.0, 0.0, 1.0, -1.0, 1e-40, 3e38},
    int = {1, 0, -1, 2},
}

local function is_prime(n)
    for d = 2, math.floor(math.sqrt(n)) do
        if n % d == 0 then
            return false
        end
    end
    return n > 1
end

local function prime_below(low, high)
    for n = high, low, -1 do
        if is_prime(n) then
            return n
        end
    end
end

-- Ascending sizes of axis i over the entries' buckets.
-- A vector's elements at most: sizes whose rows can be aligned are multiples.
local VECTOR = 16

local function axis_sizes(handle, axis, entries, i)
    local set, out = {}, {}
    for _, entry in ipairs(entries) do
        local low, high = handle:range(axis.index, entry.positions[i])
        set[low], set[high] = true, true
        if high <= FINE then
            set[math.min(low + 1, high)] = true
            set[prime_below(low, high) or high] = true
            set[(low + high) // 2] = true
        end
        if entry.align == 16 then
            set[math.max(low, (low + high) // 2 // VECTOR * VECTOR)] = true
            set[math.max(low, high - VECTOR)] = true
        end
    end
    for size in pairs(set) do
        out[#out + 1] = size
    end
    return out
end

-- Sizes with axis `at` at `size` and the others as large as the bound lets:
-- one of their own sizes each, varied by `turn`; nil when past it.
local function fill(lists, at, size, turn, bound)
    local sizes, room, product = {}, math.max(1, bound.aim // size), 1
    for i, list in ipairs(lists) do
        local fitting = 1
        while fitting < #list and list[fitting + 1] <= room do
            fitting = fitting + 1
        end
        sizes[i] = list[1 + turn % fitting]
        if i == at then
            sizes[i] = size
        else
            room = math.max(1, room // sizes[i])
        end
        product = product * sizes[i]
    end
    return product <= bound.most and sizes or nil
end

local function in_group(p, call, entry)
    call.arch = p.arch
    local launches = p.handle:plan(call)
    return launches and launches[1] and launches[1].op == entry.op
        and launches[1].group == entry.group
end

-- Tensors start off the allocation's alignment in two calls of three, as far
-- as the class lets them.
local function shift(call, align, turn)
    local offset = turn % 3
    if align == 16 then
        offset = offset * VECTOR
    elseif align == 1 then
        offset = offset + 1
    end
    for _, tensor in ipairs(call.tensors) do
        if tensor then
            tensor.offset = offset
        end
    end
end

-- The attributes given, and dynamic ones at the values of this turn; at turn 0
-- all have their defaults.
local function varied(op, given, turn)
    local out, step = {table.unpack(given)}, 1
    for _, attr in ipairs(op.attrs) do
        local list = not attr.baked and (attr.tried or TRIED[attr.type])
        if list then
            local value = list[turn * step % (#list + 1)]
            if value and value ~= attr.default then
                out[#out + 1] = {name = attr.name, value = value}
            end
            step = step * 3
        end
    end
    return out
end

-- An attribute's value may lead out of the group; its default does not.
local function add(p, call, first, turn, out, seen)
    local given = call.attrs
    shift(call, first.align, turn)
    for _, attrs in ipairs {varied(p.model.op[call.op], given, turn), given} do
        call.attrs = attrs
        local text = callm.text(call, p.model)
        if seen[text] then
            return
        elseif in_group(p, call, first) then
            seen[text] = true
            out[#out + 1] = text
            return
        end
    end
end

-- Calls that walk one axis at a time over its sizes.
local function lattice_calls(p, op, entries, bound, out, seen)
    local lists, turn = {}, 0
    local ctx = lattice.context(p.model, p.handle, p.arch, op)
    for i, axis in ipairs(p.model.axes[op.name]) do
        lists[i] = axis_sizes(p.handle, axis, entries, i)
    end
    for i, list in ipairs(lists) do
        for _, size in ipairs(list) do
            turn = turn + 1
            local sizes = fill(lists, i, size, turn, bound)
            local call = sizes and lattice.call_at(ctx, entries[1], sizes)
            if call then
                add(p, call, entries[1], turn, out, seen)
            end
        end
    end
end

function M.calls(p, entries, bound)
    local op, out, seen = p.model.op[entries[1].op], {}, {}
    if op.lattice then
        lattice_calls(p, op, entries, bound or WHOLE, out, seen)
        return out
    end
    -- Served by a census alone: the models' own calls.
    for _, entry in ipairs(entries) do
        add(p, entry.call, entries[1], 0, out, seen)
    end
    return out
end

function M.few(p, entries, n)
    local list, out = M.calls(p, entries, SMALL), {}
    if #list == 0 then
        list, n = M.calls(p, entries, WHOLE), 1
    end
    for i = 1, math.min(n, #list) do
        out[i] = list[1 + (i - 1) * (#list - 1) // math.max(1, n - 1)]
    end
    return out
end

return M
