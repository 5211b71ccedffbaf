-- proof.lua: what must hold of all declared keys, certified or not, before
-- anything is emitted.
--
-- run(target): errors to the sink where a group has no config, a kernel's name
--   is too long or another's too, an element type has no C here, an output has
--   no limits, a key no candidate, or a group more keys than the budget allows.
--   target: see project.lua.

local c = require "family.c"
local diag = require "diag"
local kernels = require "kernels"

local M = {}

local function check_dtypes(op, entry)
    local good = true
    for i, tensor in ipairs(op.tensors) do
        local dtype = entry.dtypes[i]
        if dtype ~= "none" and not c.storage(dtype) then
            diag.at(tensor.node, "tensor %s: kernels hold no %s (they hold "
                .. "bool, f16, bf16, f32, f64)", tensor.name, dtype)
            good = false
        end
    end
    return good
end

-- symbols: {[symbol] = group} of all groups so far.
local function check_symbols(op, list, symbols)
    for _, k in ipairs(list) do
        local other = symbols[k.symbol]
        if other then
            diag.at(op.node, "op %s: kernel name %s stands for both %s and "
                .. "%s; rename an op or a choice", op.name, k.symbol, other,
                k.group)
        end
        symbols[k.symbol] = k.group
    end
end

-- The candidates of an entry's group, checked.
local function check_group(p, entry, symbols)
    local op = p.model.op[entry.op]
    local list = kernels.candidates(p.model, entry, p.tier)
    check_symbols(op, list, symbols)
    if check_dtypes(op, entry) and list[1] then
        kernels.limits(list[1])
    end
    return list
end

-- Some candidate serves the key.
local function check_served(list, entry)
    for _, k in ipairs(list) do
        if kernels.serves(k, entry) then
            return
        end
    end
    if list[1] and host.errors() == 0 then
        diag.at(list[1].tile.require.node, "require refuses every config "
            .. "for %s", entry.key)
    end
end

function M.run(p)
    local counts, lists, symbols = {}, {}, {}
    for _, entry in pairs(p.keys) do
        local group = entry.group
        lists[group] = lists[group] or check_group(p, entry, symbols)
        counts[group] = (counts[group] or 0) + 1
        check_served(lists[group], entry)
    end
    for group, n in pairs(counts) do
        local bound = p.model.budget.keys_per_group
        if bound and n > bound then
            diag.at(p.model.budget_at.keys_per_group,
                "%s has %d keys; a group may have %d", group, n, bound)
        end
    end
end

return M
