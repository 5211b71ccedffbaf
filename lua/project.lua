-- project.lua: from command options to everything that commands work on.
--
-- project.open(options) -> p, or nil when errors went to the sink;
--   options.order: fields of specs must stand in their fixed order
--   p = {model=, handle=, calls=, targets=, keep=function(op name), options=,
--        roots=}
--   targets: one a tier, which sees all of p and has
--     {tier=, arch=its profile's number, isas={forms, "-" where none},
--      keys={[key text] = entry} of lattice and census together}
-- project.home(p) -> function(op name): see certs.load
-- project.resolve(target) -> state (see resolve.lua); certificates are read
--   here.

local census = require "census"
local certs = require "certs"
local diag = require "diag"
local edit = require "edit"
local lattice = require "lattice"
local modelm = require "model"
local proof = require "proof"
local resolve = require "resolve"
local schema = require "schema"
local spec = require "spec"

local M = {}

local function check_names(list, known, what)
    local set, names = {}, {}
    for name in pairs(known) do
        names[#names + 1] = name
    end
    for _, name in ipairs(list or {}) do
        if not known[name] then
            local near = edit.near(name, names)
            host.error("", 0, 0, ("no %s %s%s; there are: %s"):format(what,
                name, near and (", did you mean %s?"):format(near) or "",
                table.concat(names, ", ")))
        end
        set[name] = true
    end
    return set
end

-- Adds to set the ops that steps of its members call.
local function add_callees(model, set)
    local function walk(steps)
        for _, step in ipairs(steps or {}) do
            local op = step.op and model.op[step.op]
            if op and not set[op.name] then
                set[op.name] = true
                add_callees(model, set)
            end
            walk(step.steps)
        end
    end
    for name in pairs(set) do
        for _, route in ipairs(model.op[name] and model.op[name].routes
            or {}) do
            walk(route.steps)
        end
    end
end

-- Leaves the named ops and what they call; the set of them, or nil: all.
local function narrow(model, names)
    local set = check_names(names, model.op, "op")
    if not names or #names == 0 then
        return nil
    end
    add_callees(model, set)
    local ops = {}
    for _, op in ipairs(model.ops) do
        if set[op.name] then
            ops[#ops + 1] = op
        end
    end
    model.ops = ops
    return set
end

local function load_model(options)
    local model = spec.load(options.spec, {order = options.order})
    if not model then
        return nil
    end
    model.roots = options.spec
    model.narrowed = narrow(model, options.ops)
    if host.errors() > 0 then
        return nil
    end
    return modelm.build(model)
end

-- Ops that --ops leaves; of certificates, also those of ops that are gone.
local function kept(model)
    return function(name)
        return not model.narrowed or model.narrowed[name] == true
    end
end

-- Calls of ops that were left out do not count.
local function kept_calls(p)
    local out = {}
    local names = {}
    for _, op in ipairs(p.model.ops) do
        names[op.name] = true
    end
    for _, entry in ipairs(census.calls(p)) do
        if names[entry.call.op] and p.keep(entry.call.op) then
            out[#out + 1] = entry
        end
    end
    return out
end

-- The profile of each tier: the first by name; its number and itself.
local function profiles(model)
    local out = {}
    for i, arch in ipairs(model.arch_list) do
        out[arch.tier] = out[arch.tier] or {i, arch}
    end
    return out
end

-- The forms that kernels of a tier are built in; NO_ISA where there is one.
local NO_ISA = "-"

local function isas_of(profile)
    if profile.tier ~= "cpu" then
        return {NO_ISA}
    elseif #profile.isa == 0 then
        diag.at(profile.node, "arch %s lacks isa: the forms that kernels "
            .. "are built in, such as [base, avx2]", profile.name)
    end
    return profile.isa
end

-- Tiers as `--tier` chooses, all by default, in the schema's order.
local function targets_of(p)
    local known, out = profiles(p.model), {}
    local chosen = check_names(p.options.tier, known, "profile of tier")
    for _, tier in ipairs(schema.tiers) do
        local profile = known[tier]
        if profile and (not p.options.tier or chosen[tier]) then
            out[#out + 1] = setmetatable({
                tier = tier, arch = profile[1], isas = isas_of(profile[2]),
            }, {__index = p})
        end
    end
    if #out == 0 and host.errors() == 0 then
        local root = p.roots[#p.roots]
        host.error(root .. "/arch", 0, 0, ("no profile is of any tier; a "
            .. "folder that extends others is given after them: --spec spec "
            .. "--spec %s"):format(root))
    end
    return out
end

local function declare(p, target)
    target.keys = lattice.keys(p.model, p.handle, target.arch, p.keep)
    for key, entry in pairs(census.keys(p.handle, target.arch, p.calls,
        p.keep)) do
        target.keys[key] = target.keys[key] or entry
    end
    proof.run(target)
end

function M.open(options)
    local model = load_model(options)
    if not model then
        return nil
    end
    local p = {
        model = model, options = options, roots = options.spec,
        keep = kept(model), handle = core.load(model.tables),
    }
    p.targets = targets_of(p)
    if host.errors() > 0 then
        return nil
    end
    p.calls = kept_calls(p)
    census.fill(p)
    p.handle = core.load(model.tables) -- with the census cells
    for _, target in ipairs(p.targets) do
        declare(p, target)
    end
    return host.errors() == 0 and p or nil
end

-- Of an op: the number of the root that its spec is of; 1 for one that is gone.
function M.home(p)
    local number = {}
    for i, root in ipairs(p.roots) do
        number[root] = i
    end
    return function(name)
        local op = p.model.op[name]
        return op and number[op.root] or 1
    end
end

function M.resolve(target)
    local records = certs.load(target.roots, target.tier, M.home(target))
    local state = resolve.run(target, records)
    state.resources = certs.resources(target.roots, target.tier)
    return state
end

return M
