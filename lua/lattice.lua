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

-- Tensors of a call of op by the op's rules, or false after reporting.
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

local function call_of(ctx, tensors, attrs)
    return {op = ctx.op.name, tensors = tensors, attrs = attrs,
            arch = ctx.arch}
end

function M.call_at(ctx, entry, sizes)
    local tensors = complete(ctx, entry.dtypes, entry, sizes)
    return tensors and call_of(ctx, tensors, entry.call.attrs) or nil
end

local function within(ctx, tensors, sizes)
    if not ctx.plan.within then
        return true
    end
    local holds, why = ctx.handle:eval(
        {lets = sizes, tensors = tensors, arch = ctx.arch},
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

local function same(a, b)
    for i, v in ipairs(a) do
        if b[i] ~= v then
            return false
        end
    end
    return true
end

-- Sizes at a bucket's corners, the largest first.
local function sizes_of(corners)
    local out, sizes = {}, {}
    local function walk(i)
        if i > #corners then
            if #out == 0 or not same(sizes, out[1]) then
                out[#out + 1] = {table.unpack(sizes)}
            end
            return
        end
        for side = 2, 1, -1 do
            sizes[i] = corners[i][side]
            walk(i + 1)
        end
    end
    walk(1)
    return out
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

-- Tensors at corner i of a bucket, or false after reporting: no dtype changes
-- their shapes and strides, no size their dtypes.
local function tensors_at(ctx, bucket, dtypes, i)
    local function make()
        return complete(ctx, dtypes, bucket.class, bucket.sizes[i])
    end
    if bucket.forms[i] == nil then
        bucket.forms[i] = make()
    end
    if ctx.typed[dtypes] == nil then
        ctx.typed[dtypes] = make()
    end
    local form, typed, out = bucket.forms[i], ctx.typed[dtypes], {}
    for t, tensor in ipairs(form and typed and form or {}) do
        out[t] = tensor and {
            dtype = typed[t].dtype, offset = tensor.offset,
            shape = tensor.shape, strides = tensor.strides,
        }
    end
    return #out > 0 and out
end

-- Corners but the largest need keys of their own only where their group is one
-- that no corner before them had.
local function add_corners(ctx, out, bucket, dtypes, attrs)
    local met = {}
    for i = 1, #bucket.sizes do
        if bucket.tensors[i] == nil then
            bucket.tensors[i] = tensors_at(ctx, bucket, dtypes, i)
        end
        local call = bucket.tensors[i]
            and call_of(ctx, bucket.tensors[i], attrs)
        local group = call and i > 1 and ctx.handle:group(call)
        if call and (not group or group == 0 or not met[group]) then
            met[add_call(ctx, out, bucket.positions, call, bucket.class)
                or 0] = true
        end
    end
end

local function add_bucket(ctx, out, bucket)
    for _, dtypes in ipairs(ctx.dtypes) do
        bucket.tensors = {tensors_at(ctx, bucket, dtypes, 1)}
        if bucket.tensors[1]
            and within(ctx, bucket.tensors[1], bucket.sizes[1]) then
            for _, attrs in ipairs(ctx.attrs) do
                add_corners(ctx, out, bucket, dtypes, attrs)
            end
        end
    end
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
    ctx.dtypes, ctx.attrs = choices.dtypes(ctx.op), choices.attrs(ctx.op)
    for _, class in ipairs(classes) do
        each_bucket(ctx.handle, ctx.model.axes[ctx.op.name],
            function(positions, corners)
                add_bucket(ctx, out, {
                    class = class, positions = positions, forms = {},
                    sizes = sizes_of(corners),
                })
            end)
    end
    if host.errors() == before then
        check_reached(ctx)
    end
end

function M.context(model, handle, arch, op)
    return {
        model = model, handle = handle, arch = arch, op = op,
        plan = prepare(model, op), seen = {}, told = {},
        typed = {},
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
