-- tree.lua: an output tree from what was resolved, within the budget.
--
-- tree.gen(p, states) -> files; states: of p's targets, see resolve.lua
-- tree.candidates(p, parts) -> files; parts: {{target=, keys=, candidates=,
--   kernels=}}, see command/candidates.lua
-- tree.change(root, files, specs) -> the change for the host: what the old
--   MANIFEST lists and the new does not, goes. Errors to the sink when a file
--   of somebody else's is in the way, or root and a spec folder overlap.
-- tree.check_budget(p, files, states) -> kernels, lines, bytes; errors to the
--   sink.
--   (keys a group: proof.lua)

local cells = require "out.cells"
local diag = require "diag"
local keys_out = require "out.keys"
local kernels_of = require "kernels"
local kernels_out = require "out.kernels"
local lists = require "out.lists"
local ops_h = require "out.ops_h"
local tables = require "out.tables"

local M = {}

-- Adds a tier's look-up tables; what out/tables.lua and out/kernels.lua take.
local function add_tier(files, p, kernels, devices, cells_of)
    local part = {tier = p.tier, isas = p.isas, kernels = kernels,
                  served = {}, devices = devices}
    for _, op in ipairs(p.model.ops) do
        local list, groups = cells_of(op.name)
        local any = false
        for _, isa in ipairs(p.isas) do
            any = any or #groups[isa] > 0
        end
        if any then
            part.served[op.name] = true
            files[("table/%s/%s.c"):format(p.tier, op.name)] =
                keys_out.run(p, op.name, list, groups)
        end
    end
    return part
end

local function add_common(files, p, parts)
    tables.run(files, p.model, parts)
    files["include/kiln/ops.h"] = ops_h.text(p.model)
    kernels_out.run(files, parts)
end

function M.gen(p, states)
    local files, parts = {}, {}
    for i, target in ipairs(p.targets) do
        local keys, devices = cells.by_op(states[i].keys), {}
        parts[i] = add_tier(files, target, states[i].kernels, devices,
            function(op)
                return cells.of_state(states[i], keys[op] or {}, op,
                    target.isas, devices)
            end)
    end
    add_common(files, p, parts)
    lists.run(files, p.model, states)
    files["MANIFEST"] = lists.manifest(files)
    return files
end

function M.candidates(p, chosen)
    local files, parts = {}, {}
    for i, part in ipairs(chosen) do
        local keys = cells.by_op(part.keys)
        parts[i] = add_tier(files, part.target, part.kernels, {"candidate"},
            function(op)
                return cells.of_candidates(keys[op] or {}, part.candidates,
                    part.target.isas)
            end)
    end
    add_common(files, p, parts)
    return files
end

local MANIFEST = "^# sha256\tbytes\tpath\n"

-- {path = true} of what the root's MANIFEST says is ours, itself too.
local function owned_paths(root)
    local out, text = {}, host.read(root .. "/MANIFEST") or ""
    if not text:find(MANIFEST) then
        return out
    end
    for path in text:gmatch("\n%x+\t%d+\t([^\n]+)") do
        out[path] = true
    end
    out.MANIFEST = true
    return out
end

-- A file of somebody else's is never written over.
local function check_foreign(root, files, owned)
    for path, text in pairs(files) do
        local there = not owned[path] and host.read(root .. "/" .. path)
        if there and there ~= text then
            host.error(root .. "/" .. path, 0, 0, "is not ours (" .. root
                .. "/MANIFEST does not list it) but has the name of a file "
                .. "to write: move it away, or name another --out")
        end
    end
end

-- Whether one folder's name lies within the other's.
local function within(inner, outer)
    return (inner .. "/"):sub(1, #outer + 1) == outer .. "/"
end

local function check_root(root, specs)
    for _, spec in ipairs(specs) do
        if within(root, spec) or within(spec, root) then
            host.error(root, 0, 0, "holds or lies in the spec folder " .. spec
                .. ": name a folder of its own with --out")
        end
    end
end

function M.change(root, files, specs)
    local remove, owned = {}, owned_paths(root)
    check_root(root, specs)
    check_foreign(root, files, owned)
    for path in pairs(owned) do
        if not files[path] then
            remove[#remove + 1] = path
        end
    end
    return {root = root, files = files, remove = remove}
end

local function count(files)
    local lines, bytes = 0, 0
    for _, text in pairs(files) do
        bytes = bytes + #text
        lines = lines + select(2, text:gsub("\n", ""))
    end
    return lines, bytes
end

local function hold(p, name, value)
    local bound = p.model.budget[name]
    if bound and value > bound then
        diag.at(p.model.budget_at[name], "the tree has %d %s; the budget is "
            .. "%d", value, name, bound)
    end
end

-- Each kernel within the registers and spills that the budget allows.
local function check_resources(p, states)
    for _, state in ipairs(states) do
        for _, k in ipairs(state.kernels) do
            local known = state.resources[k.symbol] or {}
            for _, name in ipairs {"registers", "spills"} do
                local bound = p.model.budget[name]
                if bound and known[name] and known[name] > bound then
                    diag.at(p.model.budget_at[name], "kernel %s of tier %s "
                        .. "has %d %s; the budget is %d", k.symbol,
                        state.tier, known[name], name == "spills"
                        and "bytes of spills" or name, bound)
                end
            end
        end
    end
end

function M.check_budget(p, files, states)
    local lines, bytes = count(files)
    local texts, kernels = {}, 0
    for _, state in ipairs(states) do
        for _, k in ipairs(state.kernels) do
            local id = kernels_of.path(k) .. " " .. k.symbol
            kernels = kernels + (texts[id] and 0 or 1)
            texts[id] = true
        end
    end
    check_resources(p, states)
    hold(p, "kernels", kernels)
    hold(p, "lines", lines)
    hold(p, "bytes", bytes)
    return kernels, lines, bytes
end

return M
