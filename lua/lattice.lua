-- lattice.lua: the keys that specs declare served. Each op's lattice section
-- gives a call for any sizes of its axes; the planner, run dry on calls at
-- all corners of all buckets, says which keys they need.
--
-- lattice.keys(model, handle, arch, keep) -> {[key text] = entry}; keep(op
--   name) chooses ops. Errors go to the sink.
--   entry = {key=, group=, packed=, op=, variant=, dtypes=, baked=, layout=,
--            positions=, ranges="M=1..64 N=17..64", call=}; call is one at
--   the upper corner.
-- lattice.entry(launch, probe, call) -> entry of one of the launch's probes
-- lattice.context(model, handle, arch, op) -> ctx, and
-- lattice.call_at(ctx, entry, sizes) -> a call of entry's group at any sizes

local compile = require "compile"
local callm = require "call"
local choices = require "choices"
local diag = require "diag"
local kernels = require "kernels"

local M = {}

function M.entry(launch, probe, call)
    return {
        key = probe.key, group = launch.group, packed = launch.packed,
        op = launch.op, variant = launch.variant, dtypes = launch.dtypes,
        keyed = launch.keyed, baked = launch.baked, layout = launch.layout,
        align = launch.align or false,
        positions = probe.positions, ranges = probe.ranges, call = call,
    }
end

-- The lattice section with its expressions compiled; axes are lets.
local function prepare(model, op)
    local lets, scope = {}, model.scope[op.name]
    for i, axis in ipairs(model.axes[op.name]) do
        lets[axis.name] = i - 1
    end
    local out = {shape = {}}
    local inner = compile.with(scope, "lets", {})
    inner.lets = lets
    for _, entry in ipairs(op.lattice.shape) do
        local list = {node = entry.node, text = {}}
        for d, x in ipairs(entry.exprs) do
            list[d] = core.expr(compile.expr(x, inner))
            list.text[d] = x.text
        end
        out.shape[entry.tensor] = list
    end
    out.within = op.lattice.within
        and core.expr(compile.expr(op.lattice.within, inner))
    return out
end

-- The lattice's shape of a tensor; {} after reporting.
local function shape_of(ctx, list, sizes)
    local shape, names = {}, {lets = sizes, tensors = {}}
    for d, x in ipairs(list) do
        local size, why = ctx.handle:eval(names, x)
        if math.type(size) ~= "integer" then
            diag.at(list.node or ctx.op.node, "lattice: %s: %s", list.text[d],
                why or "is not an integer")
            return {}
        end
        shape[d] = size
    end
    return shape
end

-- A call of op made by the op's rules alone, or false after reporting.
local function complete(ctx, dtypes, class, sizes)
    local op, call = ctx.op, {op = ctx.op.name, tensors = {}}
    for i, tensor in ipairs(op.tensors) do
        local list = ctx.plan.shape[tensor.name]
        if list then
            call.tensors[i] = {
                dtype = dtypes[i] or nil, offset = 0,
                shape = shape_of(ctx, list, sizes),
            }
        elseif dtypes[i] then
            call.tensors[i] = {dtype = dtypes[i], offset = 0}
        end
    end
    local done, why = callm.complete(ctx.handle, op, call)
    if not done then
        diag.at(op.lattice.node or op.node, "lattice: %s", why.text)
        return false
    end
    for _, tensor in ipairs(call.tensors) do
        if tensor then
            choices.strided(tensor, class.layout, class.align)
        end
    end
    return call.tensors
end

-- What f gives for id, asked once.
local function once(memo, id, f)
    if memo[id] == nil then
        memo[id] = f()
    end
    return memo[id]
end

-- A call of op at the given sizes of its axes, or nil after reporting. No
-- dtype changes its shapes and strides, no size its dtypes.
local function make_call(ctx, dtypes, attrs, class, sizes)
    local function make()
        return complete(ctx, dtypes, class, sizes)
    end
    local form = once(ctx.forms, ("%s %s %s"):format(class.layout,
        tostring(class.align), table.concat(sizes, " ")), make)
    local typed = form and once(ctx.typed, dtypes, make)
    if not typed then
        return nil
    end
    local call = {op = ctx.op.name, tensors = {}, attrs = attrs,
                  arch = ctx.arch}
    for i, tensor in ipairs(form) do
        call.tensors[i] = tensor and {
            dtype = typed[i].dtype, offset = tensor.offset,
            shape = tensor.shape, strides = tensor.strides,
        }
    end
    return call
end

-- What make_call needs: see M.context.
function M.call_at(ctx, entry, sizes)
    local attrs = entry.call.attrs
    return make_call(ctx, entry.dtypes, attrs, entry, sizes)
end

local function within(ctx, call, sizes)
    if not ctx.plan.within then
        return true
    end
    local holds, why = ctx.handle:eval(
        {lets = sizes, tensors = call.tensors, arch = ctx.arch},
        ctx.plan.within)
    if holds == nil then
        diag.at(ctx.op.node, "op %s: lattice: within: %s", ctx.op.name, why)
    end
    return holds
end

-- Calls f(positions, corners): corners[i] = {least, greatest} of axis i.
local function each_bucket(handle, axes, f)
    local positions, corners = {}, {}
    local function walk(i)
        if i > #axes then
            f({table.unpack(positions)}, corners)
            return
        end
        for p = 1, #axes[i].ladder.edges do
            positions[i] = p - 1
            corners[i] = {handle:range(axes[i].index, p - 1)}
            walk(i + 1)
        end
    end
    walk(1)
end

local function each_corner(corners, f)
    local sizes = {}
    local function walk(i)
        if i > #corners then
            f({table.unpack(sizes)})
            return
        end
        for side = 2, 1, -1 do
            sizes[i] = corners[i][side]
            walk(i + 1)
        end
    end
    walk(1)
end

local function same(a, b)
    for i, v in ipairs(a) do
        if b[i] ~= v then
            return false
        end
    end
    return true
end

-- Plans a call and keeps the keys it needs; gives its group, 0 where it is not
-- of one launch, or nil where it has no plan.
local function add_call(ctx, out, positions, call, class)
    local launches, why = ctx.handle:plan(call)
    if not launches then
        if not ctx.told[why] then
            diag.at(ctx.op.node, "op %s: lattice: %s: %s", ctx.op.name,
                callm.text(call, ctx.model), why)
        end
        ctx.told[why] = true
        return nil
    end
    for _, launch in ipairs(launches) do
        local probe = launch.probes[#launch.probes]
        if launch.op == ctx.op.name and launch.layout == class.layout
            and (launch.align or false) == class.align
            and probe and same(positions, probe.positions) then
            local entry = M.entry(launch, probe, call)
            if not out[entry.key] then
                out[entry.key] = entry
                ctx.seen[launch.variant] = true
            end
        end
    end
    return #launches == 1 and launches[1].packed or 0
end

-- A bucket's other corners need keys of their own only where their group is
-- one that no corner before them had.
local function add_bucket(ctx, out, dtypes, attrs, class, positions, corners)
    local top = {}
    for i, corner in ipairs(corners) do
        top[i] = corner[2]
    end
    local largest = make_call(ctx, dtypes, attrs, class, top)
    if not largest or not within(ctx, largest, top) then
        return
    end
    local met = {}
    met[add_call(ctx, out, positions, largest, class) or 0] = true
    each_corner(corners, function(sizes)
        local call = not same(sizes, top)
            and make_call(ctx, dtypes, attrs, class, sizes)
        local group = call and ctx.handle:group(call)
        if call and (not group or group == 0 or not met[group]) then
            met[group or 0] = true
            add_call(ctx, out, positions, call, class)
        end
    end)
end

-- A variant that the tier's tiling has configs for is one that buckets reach.
local function check_reached(ctx)
    local tier = ctx.model.tables.archs[ctx.arch].tier
    for _, route in ipairs(ctx.op.routes) do
        if route.variant and not ctx.seen[route.variant]
            and kernels.tile(ctx.model, ctx.op, route.variant, tier) then
            diag.at(route.node or ctx.op.node, "op %s: variant %s is "
                .. "unreachable on the lattice of tier %s: no bucket takes "
                .. "its route", ctx.op.name, route.variant, tier)
        end
    end
end

local function add_op(ctx, out)
    local before = host.errors()
    local classes = {}
    for _, layout in ipairs(ctx.model.families[ctx.op.family].layouts) do
        for _, align in ipairs(choices.aligns(
            ctx.model.tables.archs[ctx.arch], layout)) do
            classes[#classes + 1] = {layout = layout, align = align}
        end
    end
    for _, dtypes in ipairs(choices.dtypes(ctx.op)) do
        for _, attrs in ipairs(choices.attrs(ctx.op)) do
            for _, class in ipairs(classes) do
                each_bucket(ctx.handle, ctx.model.axes[ctx.op.name],
                    function(positions, corners)
                        add_bucket(ctx, out, dtypes, attrs, class, positions,
                            corners)
                    end)
            end
        end
    end
    if host.errors() == before then
        check_reached(ctx)
    end
end

function M.context(model, handle, arch, op)
    return {
        model = model, handle = handle, arch = arch, op = op,
        plan = prepare(model, op), seen = {}, told = {},
        forms = {}, typed = {},
    }
end

function M.keys(model, handle, arch, keep)
    local out = {}
    for _, op in ipairs(model.ops) do
        if op.lattice and keep(op.name) then
            local before = host.errors()
            local ctx = M.context(model, handle, arch, op)
            if host.errors() == before then
                add_op(ctx, out)
            end
        end
    end
    return out
end

return M
