-- command/explain.lua: kiln explain KEY or CALL: what serves it and why, or
-- what is nearest and how to certify it.
--   kiln explain 'softmax/looped f16 log=0 contiguous M=64 N=32768'
--   kiln explain softmax x=f16[4096,1024] dim=-1

local callm = require "call"
local diag = require "diag"
local edit = require "edit"
local kernels = require "kernels"
local project = require "project"

local function add(out, ...)
    out[#out + 1] = string.format(...)
end

-- What a state is said of: the ISA on the cpu, else the tier.
local function form(p, isa)
    return isa == "-" and p.tier or isa
end

local function explain_served(out, p, isa, served)
    local k, row = served.kernel, served.row
    add(out, "  %s: certified%s", form(p, isa),
        row.reach == "forced" and ", forced" or "")
    add(out, "    kernel    %s", k.symbol)
    add(out, "    file      out/%s", kernels.path(k))
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
            explain_served(out, p, isa, served)
        else
            all = false
            add(out, "  %s: %s; to certify: make certify TIER=%s OPS=%s",
                form(p, isa), entry.stale[isa] and "stale: " .. entry.stale[isa]
                or "uncertified", p.tier, entry.op)
        end
    end
    return all
end

-- Declared keys of an op.
local function keys_of(state, op)
    local out = {}
    for _, entry in ipairs(state.keys) do
        if entry.op == op then
            out[#out + 1] = entry
        end
    end
    return out
end

local function explain_miss(out, p, state, key)
    local op = key:match("^[^/]*")
    add(out, "key %s is not declared; nearest:", key)
    for _, entry in ipairs(assert(p.handle:nearest(p, key,
        keys_of(state, op)))) do
        add(out, "  %s", entry.key)
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

local function variants_of(op)
    local out = {}
    for _, route in ipairs(op.routes) do
        out[#out + 1] = route.variant
    end
    return out
end

local function includes(list, name)
    for _, item in ipairs(list) do
        if item == name then
            return true
        end
    end
    return false
end

-- The text of a key, its blanks made one; nil after reporting.
local function read_key(p, text)
    local name, variant = text:match("^%s*([^/]*)/(%S*)")
    local ops = ops_with_keys(p)
    if not includes(ops, name) then
        return unknown(text, "op with keys is", name, ops)
    end
    local variants = variants_of(p.model.op[name])
    if not includes(variants, variant) then
        return unknown(text, "variant of " .. name .. " is", variant, variants)
    end
    local key, why = p.handle:key(p, text)
    if not key then
        host.error(text, 0, 0, why)
        return nil
    end
    return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local function explain_key(out, p, state, text)
    local key = read_key(p, text)
    return not key or find_key(out, p, state, key)
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
    for _, probe in ipairs(launch.probes) do
        if p.keys[probe.key] then
            return probe.key
        end
    end
    return launch.key
end

local function explain_call(out, p, state, text)
    local call, why = callm.parse(text, p.model, p.handle)
    if not call then
        host.error(text, 1, why.at, why.text)
        return true
    end
    call.arch = p.arch
    add(out, "call %s on tier %s", callm.text(call, p.model), p.tier)
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

-- A key names a tier by its classes: where it is declared, else where its
-- text could be.
local function tiers_of_key(p, text)
    local declared = {}
    for _, target in ipairs(p.targets) do
        local key = target.handle:key(target, text)
        if key and target.keys[key] then
            declared[#declared + 1] = target
        end
    end
    return declared[1] and declared or {p.targets[1]}
end

return function(options)
    local text = table.concat(options.args, " ")
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local is_key = text:match("^%s*(%S*)"):find("/", 1, true)
    local targets = is_key and tiers_of_key(p, text) or p.targets
    local out, all = {}, true
    for _, target in ipairs(targets) do
        local explain = is_key and explain_key or explain_call
        all = explain(out, target, project.resolve(target), text) and all
        if host.errors() > 0 then
            return {status = 1, text = "", trees = {}}
        end
    end
    return {
        status = all and 0 or 3, trees = {},
        text = table.concat(out, "\n") .. "\n",
    }
end
