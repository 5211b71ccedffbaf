-- tree.lua: an output tree from what was resolved, within the budget.
--
-- tree.gen(p, state) -> files; tree.candidates(p, candidates) -> files
-- tree.change(root, files, specs) -> the change for the host: what the old
--   MANIFEST lists and the new does not, goes. Errors to the sink when a file
--   of somebody else's is in the way, or root and a spec folder overlap.
-- tree.check_budget(p, files, state) -> lines, bytes; errors to the sink.
--   (keys a group: proof.lua)

local cells = require "out.cells"
local diag = require "diag"
local keys_out = require "out.keys"
local kernels_out = require "out.kernels"
local lists = require "out.lists"
local ops_h = require "out.ops_h"
local tables = require "out.tables"

local M = {}

local function add_op_keys(files, p, devices, served, cells_of)
    for _, op in ipairs(p.model.ops) do
        local kernels, groups = cells_of(op.name)
        local any = false
        for _, isa in ipairs(p.isas) do
            any = any or #groups[isa] > 0
        end
        if any then
            served[op.name] = true
            files[("table/cpu/%s.c"):format(op.name)] =
                keys_out.run(p.model, op.name, kernels, groups, p.isas)
        end
    end
    tables.run(files, p.model, served, p.isas, devices)
    files["include/kiln/ops.h"] = ops_h.text(p.model)
end

function M.gen(p, state)
    local files, devices = {}, {}
    local keys = cells.by_op(state.keys)
    add_op_keys(files, p, devices, {}, function(op)
        return cells.of_state(state, keys[op] or {}, op, p.isas, devices)
    end)
    kernels_out.run(files, state.kernels, p.isas)
    lists.run(files, p.model, state, p.isas)
    files["MANIFEST"] = lists.manifest(files)
    return files
end

function M.candidates(p, keys, candidates, list)
    local files, of_op = {}, cells.by_op(keys)
    add_op_keys(files, p, {"candidate"}, {}, function(op)
        return cells.of_candidates(of_op[op] or {}, candidates, p.isas)
    end)
    kernels_out.run(files, list, p.isas)
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

function M.check_budget(p, files, state)
    local lines, bytes = count(files)
    hold(p, "kernels", #state.kernels)
    hold(p, "lines", lines)
    hold(p, "bytes", bytes)
    return lines, bytes
end

return M
