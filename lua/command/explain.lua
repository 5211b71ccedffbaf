-- command/explain.lua: kiln explain KEY or CALL: what serves it and why, or
-- what is nearest and how to certify it.
--   kiln explain 'softmax/looped f16 log=0 contiguous M=4096 N=32768'
--   kiln explain softmax x=f16[4096,32768] dim=-1

local callm = require "call"
local lattice = require "lattice"
local project = require "project"

local NEAREST = 3

local function add(out, ...)
    out[#out + 1] = string.format(...)
end

local function explain_served(out, p, isa, served)
    local k, row = served.kernel, served.row
    add(out, "  %s: certified", isa)
    add(out, "    kernel    %s", k.symbol)
    add(out, "    file      %s/cpu/%s", p.options.out, k.file)
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

local function explain_miss(out, p, state, key)
    local list = {}
    local op = key:match("^[%w_]+") or ""
    for _, entry in ipairs(state.keys) do
        list[#list + 1] = {key = entry.key, score = common(entry.key, key)}
    end
    table.sort(list, function(a, b)
        return a.score > b.score or a.score == b.score and a.key < b.key
    end)
    add(out, "key %s is not declared; nearest:", key)
    for i = 1, math.min(NEAREST, #list) do
        add(out, "  %s", list[i].key)
    end
    local spec = p.model.op[op] and p.model.op[op].spec or "spec/op"
    add(out, "to declare it: %s (lattice, key), spec/buckets.yaml or "
        .. "spec/census; then: make certify TIER=%s OPS=%s", spec, p.tier,
        op)
end

local function explain_key(out, p, state, key)
    for _, entry in ipairs(state.keys) do
        if entry.key == key then
            return explain_entry(out, p, entry)
        end
    end
    explain_miss(out, p, state, key)
    return false
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
        host.error("", 0, 0, message)
        return true
    end
    explain_routes(out, launches)
    local all = true
    for _, launch in ipairs(launches) do
        all = explain_key(out, p, state, key_of(p, launch)) and all
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
    local explain = text:find("/", 1, true) and explain_key or explain_call
    local all = explain(out, p, state, text)
    if host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    return {
        status = all and 0 or 3, trees = {},
        text = table.concat(out, "\n") .. "\n",
    }
end
