-- proof.lua: what must hold of all declared keys, certified or not, before
-- anything is emitted.
--
-- run(p): errors to the sink where a group has no config, a kernel's name is
--   too long or another's too, an element type has no C here, an output has
--   no limits, or a group has more keys than the budget allows. p: project.lua.

local c = require "family.c"
local diag = require "diag"
local kernels = require "kernels"

local M = {}

local function check_dtypes(op, entry)
    local good = true
    for i, tensor in ipairs(op.tensors) do
        local dtype = entry.dtypes[i]
        if dtype ~= "none" and not c.storage(dtype) then
            diag.at(tensor.node, "tensor %s: kernels of tier cpu hold no %s "
                .. "(they hold bool, f16, bf16, f32, f64)", tensor.name, dtype)
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

local function check_group(p, entry, symbols)
    local op = p.model.op[entry.op]
    local list = kernels.candidates(p.model, entry, p.tier)
    check_symbols(op, list, symbols)
    if check_dtypes(op, entry) and list[1] then
        kernels.limits(list[1])
    end
end

function M.run(p)
    local seen, symbols = {}, {}
    for _, entry in pairs(p.keys) do
        local group = entry.group
        if not seen[group] then
            check_group(p, entry, symbols)
        end
        seen[group] = (seen[group] or 0) + 1
    end
    for group, n in pairs(seen) do
        local bound = p.model.budget.keys_per_group
        if bound and n > bound then
            diag.at(p.model.budget_at.keys_per_group,
                "%s has %d keys; a group may have %d", group, n, bound)
        end
    end
end

return M
