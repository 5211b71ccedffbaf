-- tree.lua: an output tree from what was resolved, within the budget.
--
-- tree.gen(p, state) -> files; tree.candidates(p, candidates) -> files
-- tree.change(root, files) -> the change for the host: what the old MANIFEST
--   lists and the new does not, goes.
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
    add_op_keys(files, p, devices, {}, function(op)
        return cells.of_state(state, op, p.isas, devices)
    end)
    kernels_out.run(files, state.kernels, p.isas)
    lists.run(files, p.model, state, p.isas)
    files["MANIFEST"] = lists.manifest(files)
    return files
end

function M.candidates(p, keys, candidates, list)
    local files = {}
    add_op_keys(files, p, {"candidate"}, {}, function(op)
        return cells.of_candidates(keys, candidates, op, p.isas)
    end)
    kernels_out.run(files, list, p.isas)
    return files
end

local function manifest_paths(root)
    local out = {}
    for line in (host.read(root .. "/MANIFEST") or ""):gmatch("[^\n]+") do
        local path = line:match("^%x+\t%d+\t(.+)$")
        if path then
            out[#out + 1] = path
        end
    end
    return out
end

function M.change(root, files)
    local remove = {}
    for _, path in ipairs(manifest_paths(root)) do
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
