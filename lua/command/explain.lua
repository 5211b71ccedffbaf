-- command/explain.lua: kiln explain KEY or CALL: what serves it and why, or
-- what is nearest and how to certify it.
--   kiln explain 'softmax/looped f16 log=0 contiguous M=64 N=32768'
--   kiln explain softmax x=f16[4096,1024] dim=-1

local callm = require "call"
local diag = require "diag"
local edit = require "edit"
local lattice = require "lattice"
local project = require "project"

local NEAREST = 3

local function add(out, ...)
    out[#out + 1] = string.format(...)
end

local function explain_served(out, isa, served)
    local k, row = served.kernel, served.row
    add(out, "  %s: certified", isa)
    add(out, "    kernel    %s", k.symbol)
    add(out, "    file      out/cpu/%s", k.file)
    add(out, "    config    %s, %.4g us on %s", k.config_text, row.us,
        row.device)
    if row.runner_up ~= "-" then
        add(out, "    runner-up %s, %s us", row.runner_up,
            row.runner_up_us)
    end
    add(out, "    error     %.4g of its limit, over %s calls",
        served.evidence.error, served.evidence.cases)
end

local function explain_entry(out, p, entry)
    local all = true
    add(out, "key %s", entry.key)
    add(out, "  serves %s (%s)", entry.ranges, p.model.op[entry.op].spec)
    for _, isa in ipairs(p.isas) do
        local served = entry.served[isa]
        if served then
            explain_served(out, isa, served)
        else
            all = false
            add(out, "  %s: %s; to certify: make certify TIER=%s OPS=%s",
                isa, entry.stale[isa] and "stale: " .. entry.stale[isa]
                or "uncertified", p.tier, entry.op)
        end
    end
    return all
end

-- Length of the common start of two texts.
local function common(a, b)
    local n = math.min(#a, #b)
    for i = 1, n do
        if a:byte(i) ~= b:byte(i) then
            return i - 1
        end
    end
    return n
end

-- How far apart the sizes of two keys of one group are: factors of two.
local function distance(a, b)
    local sum, sizes = 0.0, b:gmatch("=>?(%d+)")
    for size in a:gmatch("=>?(%d+)") do
        local other = sizes() or size
        sum = sum + math.abs(math.log(tonumber(size) + 1.0, 2)
            - math.log(tonumber(other) + 1.0, 2))
    end
    return sum
end

-- A key's text before its sizes: n of them.
local function group_of(key, n)
    return (key:gsub((" %S+"):rep(n) .. "$", ""))
end

local function nearest(p, state, key, op)
    local list = {}
    local group = group_of(key, #p.model.axes[op])
    for _, entry in ipairs(state.keys) do
        local near = entry.group == group
        list[#list + 1] = {
            key = entry.key, group = near and math.huge
                or common(entry.key, key),
            distance = near and distance(entry.key, key) or 0,
        }
    end
    table.sort(list, function(a, b)
        if a.group ~= b.group then
            return a.group > b.group
        elseif a.distance ~= b.distance then
            return a.distance < b.distance
        end
        return a.key < b.key
    end)
    return list
end

local function explain_miss(out, p, state, key)
    local op = key:match("^[^/]*")
    local list = nearest(p, state, key, op)
    add(out, "key %s is not declared; nearest:", key)
    for i = 1, math.min(NEAREST, #list) do
        add(out, "  %s", list[i].key)
    end
    add(out, "to declare it: %s (lattice, key), spec/buckets.yaml or "
        .. "spec/census; then: make certify TIER=%s OPS=%s",
        p.model.op[op].spec, p.tier, op)
    return false
end

local function find_key(out, p, state, key)
    for _, entry in ipairs(state.keys) do
        if entry.key == key then
            return explain_entry(out, p, entry)
        end
    end
    return explain_miss(out, p, state, key)
end

local function unknown(key, what, name, list)
    local near = edit.near(name, list)
    host.error(key, 0, 0, ("no %s %s%s; there are: %s"):format(what,
        diag.show(name), near and (", did you mean %s?"):format(near) or "",
        diag.names(list)))
end

-- Ops of the model that have kernels, by name.
local function ops_with_keys(p)
    local out = {}
    for _, op in ipairs(p.model.ops) do
        if #p.model.axes[op.name] > 0 then
            out[#out + 1] = op.name
        end
    end
    return out
end

-- Whether key is OP/VARIANT and, last, a size an axis; false after reporting.
local function check_key(p, key)
    local op, variant, rest = key:match("^([^/]*)/(%S*)(.*)$")
    local axes = p.model.axes[op] or {}
    if #axes == 0 then
        unknown(key, "op with keys is", op, ops_with_keys(p))
        return false
    end
    local variants, pattern = {}, ""
    for _, route in ipairs(p.model.op[op].routes) do
        variants[#variants + 1] = route.variant
    end
    for _, axis in ipairs(axes) do
        pattern = ("%s %s=%%d+"):format(pattern, axis.name)
    end
    if not ("," .. table.concat(variants, ",") .. ","):find(
        "," .. variant .. ",", 1, true) then
        unknown(key, "variant of " .. op .. " is", variant, variants)
        return false
    elseif not rest:find(pattern .. "$") then
        host.error(key, 0, 0, "a key of " .. op .. " ends in"
            .. pattern:gsub("%%d%+", "..."):gsub("%%", ""))
        return false
    end
    return true
end

local function explain_key(out, p, state, text)
    local key = text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")
    return not check_key(p, key) or find_key(out, p, state, key)
end

local function explain_routes(out, launches)
    for _, why in ipairs(launches.why) do
        add(out, "%s%s: route %s%s", ("  "):rep(why.depth), why.op,
            why.route, why.when ~= "" and ", the first that holds: "
            .. why.when or ", the first that holds")
    end
    add(out, "cost: %d bytes read, %d written, %d of workspace, %d flops",
        launches.read, launches.written, launches.workspace, launches.flops)
end

-- The declared key that the look-up finds first, else the lattice's.
local function key_of(p, launch)
    for _, positions in ipairs(lattice.probes(p.model, launch)) do
        local entry = lattice.entry(p.model, launch, positions)
        if p.keys[entry.key] then
            return entry.key
        end
    end
    return launch.key
end

local function explain_call(out, p, state, text)
    local call, why = callm.parse(text, p.model)
    if not call then
        host.error(text, 1, why.at, why.text)
        return true
    end
    call.arch = p.arch
    add(out, "call %s", callm.text(call, p.model))
    local launches, message = p.handle:plan(call)
    if not launches then
        host.error(text, 0, 0, message)
        return true
    end
    explain_routes(out, launches)
    local all = true
    for _, launch in ipairs(launches) do
        all = find_key(out, p, state, key_of(p, launch)) and all
    end
    return all
end

return function(options)
    local text = table.concat(options.args, " ")
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local state = project.resolve(p)
    local out = {}
    local is_key = text:match("^%s*(%S*)"):find("/", 1, true)
    local explain = is_key and explain_key or explain_call
    local all = explain(out, p, state, text)
    if host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    return {
        status = all and 0 or 3, trees = {},
        text = table.concat(out, "\n") .. "\n",
    }
end
