-- model_steps.lua: routes of an op as the core's tables: variants checked
-- against the family, steps bound to their callees' tensors and attributes.
--
-- routes(model, op, family, scope) -> {kiln_route, ...}; errors to the sink.

local compile = require "compile"
local diag = require "diag"
local edit = require "edit"
local enum = require "enum"

local M = {}

local MAX_LOOPS = 4

local function find(list, name)
    for i, item in ipairs(list) do
        if item.name == name then
            return i - 1
        end
    end
end

local function names(...)
    local out = {}
    for _, list in ipairs {...} do
        for _, item in ipairs(list) do
            out[#out + 1] = item.name
        end
    end
    return out
end

local function near_text(name, list)
    local near = edit.near(name, list)
    return near and (", did you mean %s?"):format(near)
        or ("; known: " .. table.concat(list, ", "))
end

local function bind_args(op, step, callee, scope, out)
    local given = {}
    for _, arg in ipairs(step.args) do
        local tensor = find(callee.tensors, arg.name)
        local slot = tensor or find(callee.attrs, arg.name)
        if not slot then
            diag.at(arg.node, "op %s: step %s has no tensor or attribute %s%s",
                op.name, callee.name, arg.name,
                near_text(arg.name, names(callee.tensors, callee.attrs)))
        else
            local list = tensor and out.tensors or out.attrs
            local attr = not tensor and callee.attrs[slot + 1]
            local inner = scope
            if attr and attr.choices then
                local choices = {}
                for i, choice in ipairs(attr.choices) do
                    choices[choice] = i - 1
                end
                inner = compile.with(scope, "constants", choices)
                inner.choices = attr.choices
            end
            list[#list + 1] = {slot = slot, expr = compile.expr(arg, inner)}
            given[arg.name] = true
        end
    end
    for _, tensor in ipairs(callee.tensors) do
        if not tensor.optional and not given[tensor.name] then
            diag.at(step.node or op.node, "op %s: step %s lacks tensor %s",
                op.name, callee.name, tensor.name)
        end
    end
end

local function empty_step(when)
    local absent = compile.absent()
    return {
        when = when, op = "", tensors = {}, attrs = {}, loop = 0,
        start = absent, stop = absent, step = absent, body = {},
    }
end

local build_steps

local function build_loop(model, op, step, scope, depth, out)
    local inner = compile.with(scope, "loops", {[step.loop.var] = depth})
    if depth >= MAX_LOOPS then
        diag.at(op.node, "op %s: loops nest deeper than %d", op.name,
            MAX_LOOPS)
        return
    end
    out.loop = depth
    out.start = compile.expr(step.loop.start, scope)
    out.stop = compile.expr(step.loop.stop, scope)
    out.step = compile.expr(step.loop.step, scope)
    out.body = build_steps(model, op, step.steps, inner, depth + 1)
end

build_steps = function(model, op, list, scope, depth)
    local out = {}
    for i, step in ipairs(list) do
        out[i] = empty_step(compile.expr(step.when, scope))
        if step.loop then
            build_loop(model, op, step, scope, depth, out[i])
        else
            local callee = model.op[step.op]
            if callee then
                out[i].op = callee.name
                bind_args(op, step, callee, scope, out[i])
            else
                diag.at(step.node or op.node, "op %s: step: no op %s%s",
                    op.name, step.op, near_text(step.op, names(model.ops)))
            end
        end
    end
    return out
end

local function build_temporaries(op, route, scope)
    local dtypes = enum.read("runtime/core/dtype.h", "KILN_")
    local out = {}
    for i, temporary in ipairs(route.temporaries or {}) do
        local shape = {}
        for d, x in ipairs(temporary.shape) do
            shape[d] = compile.expr(x, scope)
        end
        out[i] = {
            name = temporary.name, shape = shape,
            dtype = temporary.dtype and dtypes[temporary.dtype:upper()] or 0,
            dtype_like = temporary.dtype_like
                and find(op.tensors, temporary.dtype_like) or -1,
            zeroed = temporary.zeroed and 1 or 0,
        }
        scope = compile.with(scope, "tensors",
            {[temporary.name] = #op.tensors + i - 1})
    end
    return out, scope
end

local function check_variant(op, family, route)
    local known = family and family.variants or {}
    for _, variant in ipairs(known) do
        if variant == route.variant then
            return
        end
    end
    diag.at(route.node or op.node, "op %s: family %s has no variant %s%s",
        op.name, op.family or "(none)", route.variant,
        near_text(route.variant, known))
end

function M.routes(model, op, family, scope)
    local out = {}
    for i, route in ipairs(op.routes) do
        local r = {
            name = route.name or route.variant,
            when = compile.expr(route.when, scope),
            composite = route.variant and 0 or 1,
        }
        if route.variant then
            check_variant(op, family, route)
            r.temporaries, r.steps = {}, {}
        else
            local inner
            r.temporaries, inner = build_temporaries(op, route, scope)
            r.steps = build_steps(model, op, route.steps or {}, inner, 0)
        end
        out[i] = r
    end
    return out
end

return M
