-- command/candidates.lua: kiln candidates: a tree with every kernel that the
-- tiling specs allow, and the list of what to measure, CANDIDATES.tsv. Its
-- first column says what a line is:
--   kernel tier isa symbol hash op config standing limits calls(;)
--   key    tier isa key ranges op configs(,) standing_config call

local callm = require "call"
local domain = require "domain"
local kernels = require "kernels"
local lists = require "out.lists"
local project = require "project"
local tree = require "tree"

-- Whether --only and --keys let a key be measured.
local function selected(p, entry)
    local only, text = p.options.only or "all", p.options.keys
    if text and not entry.key:find(text, 1, true) then
        return false
    end
    for _, isa in ipairs(p.isas) do
        if only == "all" or only == "stale" and entry.stale[isa]
            or only == "new" and not entry.served[isa]
            and not entry.stale[isa] then
            return true
        end
    end
    return false
end

-- The keys of a group that k serves.
local function served_by(k, entries)
    local out = {}
    for _, entry in ipairs(entries) do
        if kernels.serves(k, entry) then
            out[#out + 1] = entry
        end
    end
    return out
end

-- Selected keys sorted by text; the candidates of their groups that serve any
-- key, and all keys of those groups: a kernel is judged over its whole domain,
-- however few of its keys are to be timed.
local function collect(p, state)
    local keys, groups, candidates, all = {}, {}, {}, {}
    for _, entry in ipairs(state.keys) do
        if selected(p, entry) then
            keys[#keys + 1] = entry
        end
    end
    for _, entry in ipairs(keys) do
        if not groups[entry.group] then
            groups[entry.group] = {}
        end
    end
    for _, entry in ipairs(state.keys) do
        table.insert(groups[entry.group] or {}, entry)
    end
    for group, entries in pairs(groups) do
        candidates[group] = {}
        for _, k in ipairs(kernels.candidates(p.model, entries[1], p.tier)) do
            if #served_by(k, entries) > 0 then
                table.insert(candidates[group], k)
                table.insert(all, k)
            end
        end
    end
    return keys, groups, candidates, all
end

local function add_kernel_lines(p, state, groups, candidates, lines)
    for group, entries in pairs(groups) do
        for _, k in ipairs(candidates[group]) do
            local list = domain.calls(p, served_by(k, entries))
            if #list == 0 then -- all its keys are too large to be judged
                list = domain.calls(p, entries)
            end
            local calls = table.concat(list, "; ")
            for _, isa in ipairs(p.isas) do
                local row = state.records.kernels[isa .. "\t" .. k.symbol]
                local standing = row and row.hash == kernels.hash(k)
                lines[#lines + 1] = table.concat({
                    "kernel", p.tier, isa, k.symbol, kernels.hash(k), k.op.name,
                    k.config_text, standing and "1" or "0",
                    kernels.limits(k), calls,
                }, "\t")
            end
        end
    end
end

local function add_key_lines(p, state, keys, candidates, lines)
    for _, entry in ipairs(keys) do
        local configs = {}
        for _, k in ipairs(candidates[entry.group]) do
            if kernels.serves(k, entry) then
                configs[#configs + 1] = k.config_text
            end
        end
        for _, isa in ipairs(p.isas) do
            local row = state.records.keys[isa .. "\t" .. entry.key]
            lines[#lines + 1] = table.concat({
                "key", p.tier, isa, entry.key, entry.ranges, entry.op,
                table.concat(configs, ","), row and row.config or "-",
                callm.text(entry.call, p.model),
            }, "\t")
        end
    end
end

local function check_only(only)
    if only ~= "all" and only ~= "stale" and only ~= "new" then
        host.error("", 0, 0, "--only takes stale, new or all, not " .. only)
        return false
    end
    return true
end

-- Adds a target's lines; its part of the tree.
local function add(p, lines)
    local state = project.resolve(p)
    local keys, groups, candidates, all = collect(p, state)
    if host.errors() == 0 then
        add_kernel_lines(p, state, groups, candidates, lines)
        add_key_lines(p, state, keys, candidates, lines)
    end
    return {target = p, keys = keys, candidates = candidates, kernels = all}
end

return function(options)
    if not check_only(options.only or "all") then
        return {status = 2, text = "", trees = {}}
    end
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local lines = {"# kiln candidates: see lua/command/candidates.lua"}
    local parts, keys, made = {}, 0, 0
    for i, target in ipairs(p.targets) do
        parts[i] = add(target, lines)
        keys, made = keys + #parts[i].keys, made + #parts[i].kernels
    end
    if keys == 0 then
        host.error("", 0, 0, "no key is selected (--ops, --keys, --only)")
    end
    if host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    local files = tree.candidates(p, parts)
    files["CANDIDATES.tsv"] = table.concat(lines, "\n") .. "\n"
    files["MANIFEST"] = lists.manifest(files)
    local change = tree.change(options.out, files, options.spec)
    return {
        status = host.errors() > 0 and 1 or 0, trees = {change},
        text = ("kiln candidates: %s: %d kernels, %d keys\n"):format(
            options.out, made, keys),
    }
end
