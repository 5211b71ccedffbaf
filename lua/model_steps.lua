-- model_steps.lua: routes of an op as the core's tables: variants checked
-- against the family, steps bound to their callees' tensors and attributes.
--
-- routes(model, op, family, scope) -> {kiln_route, ...}; errors to the sink.
-- model: without faults, as spec.lua returns it: calls name ops, their
-- tensors and attributes, and give all that they must.

local compile = require "compile"
local diag = require "diag"
local edit = require "edit"
local enum = require "enum"

local M = {}

local MAX_LOOPS = require("schema").most.loops

local function find(list, name)
    for i, item in ipairs(list) do
        if item.name == name then
            return i - 1
        end
    end
end

local function near_text(name, list)
    local near = edit.near(name, list)
    return near and (", did you mean %s?"):format(near)
        or ("; known: " .. table.concat(list, ", "))
end

-- scope with the choices of attr, if it has any, as constants.
local function choice_scope(scope, attr)
    if not attr.choices then
        return scope
    end
    local choices = {}
    for i, choice in ipairs(attr.choices) do
        choices[choice] = i - 1
    end
    local inner = compile.with(scope, "constants", choices)
    inner.choices = attr.choices
    return inner
end

-- An attribute's value must be of its type, where that is known; a float
-- takes an int, a string's choice is its index.
local function check_type(step, callee, arg, attr, expr)
    local want = attr and (attr.type == "string" and "int" or attr.type)
    local got = expr.type
    if attr and (got == "int" or got == "float" or got == "bool")
        and got ~= want and not (want == "float" and got == "int") then
        diag.at(arg.node, "step %s: %s expects %s, not %s", callee.name
            or step.op, arg.name, attr.type, got)
    end
end

local function bind_args(step, callee, scope, out)
    for _, arg in ipairs(step.args) do
        local slot = find(callee.tensors, arg.name)
        local list, inner = out.tensors, scope
        if not slot then
            slot = assert(find(callee.attrs, arg.name))
            list = out.attrs
            inner = choice_scope(scope, callee.attrs[slot + 1])
        end
        local expr = compile.expr(arg, inner)
        check_type(step, callee, arg, list == out.attrs
            and callee.attrs[slot + 1], expr)
        list[#list + 1] = {slot = slot, expr = expr}
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

local function build_loop(model, step, scope, depth, out)
    local inner = compile.with(scope, "loops", {[step.loop.var] = depth})
    assert(depth < MAX_LOOPS)
    out.loop = depth
    out.start = compile.expr(step.loop.start, scope)
    out.stop = compile.expr(step.loop.stop, scope)
    out.step = compile.expr(step.loop.step, scope)
    out.body = build_steps(model, step.steps, inner, depth + 1)
end

build_steps = function(model, list, scope, depth)
    local out = {}
    for i, step in ipairs(list) do
        out[i] = empty_step(compile.expr(step.when, scope))
        if step.loop then
            build_loop(model, step, scope, depth, out[i])
        else
            local callee = assert(model.op[step.op])
            out[i].op = callee.name
            bind_args(step, callee, scope, out[i])
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

-- Variants that a family has a kernel of on any tier.
local function variants_of(op, family)
    local out, seen = {}, {}
    local name = ("family.%s.cuda"):format(op.family)
    local cuda = family and host.embedded(name:gsub("%.", "/") .. ".lua")
        and require(name)
    for _, module in ipairs {family or false, cuda or false} do
        for _, variant in ipairs(module and module.variants or {}) do
            out[#out + 1] = not seen[variant] and variant or nil
            seen[variant] = true
        end
    end
    return out
end

local function check_variant(op, family, route)
    local known = variants_of(op, family)
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
            r.steps = build_steps(model, route.steps or {}, inner, 0)
        end
        out[i] = r
    end
    return out
end

return M
