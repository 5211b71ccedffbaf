-- spec/links.lua: what one spec says of another: steps of the ops they call,
-- variants of their tilings. Runs on the overlaid model, before it is
-- returned; reports, returns nothing.

local diag = require "diag"

local M = {}

local function names_of(list)
    local result = {}
    for i, item in ipairs(list) do result[i] = item.name end
    return result
end

local function has(list, name)
    for _, item in ipairs(list) do
        if item.name == name then return true end
    end
    return false
end

-- Tensors and attributes that a call must give but does not.
local function check_given(step, callee)
    for _, t in ipairs(callee.tensors) do
        if not t.optional and not has(step.args, t.name) then
            diag.at(step.node, "the call of %s lacks tensor %s", callee.name,
                    t.name)
        end
    end
    for _, a in ipairs(callee.attrs) do
        if a.required and not has(step.args, a.name) then
            diag.at(step.node, "the call of %s lacks attribute %s",
                    callee.name, a.name)
        end
    end
end

local function check_call(step, callee)
    local allowed = names_of(callee.tensors)
    local attrs = names_of(callee.attrs)
    table.move(attrs, 1, #attrs, #allowed + 1, allowed)
    for _, arg in ipairs(step.args) do
        if not has(callee.tensors, arg.name)
            and not has(callee.attrs, arg.name) then
            diag.unknown(arg.name_node, "argument", arg.name, allowed,
                         " of op " .. callee.name)
        end
    end
    check_given(step, callee)
end

local function check_steps(steps, model, known)
    for _, step in ipairs(steps) do
        if step.steps then
            check_steps(step.steps, model, known)
        elseif step.op then
            local callee = model.op[step.op]
            if not callee then
                diag.unknown(step.op_node, "op", step.op, known)
            elseif not callee.broken then
                check_call(step, callee)
            end
        end
    end
end

-- Calls visit(callee's name, step) for each call below steps.
local function each_call(steps, visit)
    for _, step in ipairs(steps) do
        if step.steps then
            each_call(step.steps, visit)
        elseif step.op then
            visit(step.op, step)
        end
    end
end

-- Reports calls that lead back to an op on the path to it.
local function check_cycles(name, model, state, path)
    local op = model.op[name]
    if not op or op.broken or state[name] == "done" then return end
    state[name] = "open"
    path[#path + 1] = name
    for _, route in ipairs(op.routes) do
        each_call(route.steps, function(callee, step)
            if state[callee] == "open" then
                diag.at(step.op_node, "op %s calls itself: %s, %s", callee,
                        table.concat(path, ", "), callee)
            else
                check_cycles(callee, model, state, path)
            end
        end)
    end
    path[#path] = nil
    state[name] = "done"
end

local function tiled_variants(tiling)
    local list = {}
    for _, tier in ipairs(tiling.tiers) do
        for _, variant in ipairs(tier.variants) do
            if not has(list, variant.name) then list[#list + 1] = variant end
        end
    end
    return list
end

local function check_variants(op, model)
    for _, route in ipairs(op.routes) do
        local tiling = model.tilings[op.family]
        if route.variant and not tiling then
            local all = {}
            for name in pairs(model.tilings) do all[#all + 1] = name end
            table.sort(all)
            diag.unknown(op.at.family, "family", op.family, all,
                         ": no spec/tiling/" .. op.family .. ".yaml")
            return
        end
        local variants = route.variant and not tiling.broken
            and tiled_variants(tiling)
        if variants and not has(variants, route.variant) then
            diag.unknown(route.node, "variant", route.variant,
                         names_of(variants), " of " .. tiling.spec)
        end
    end
end

-- model: as in spec.lua; its ops and tilings may be broken: their own errors
-- are told already, and fields may be missing.
function M.check(model)
    local known, state = {}, {}
    for name in pairs(model.op) do known[#known + 1] = name end
    table.sort(known)
    for _, name in ipairs(known) do
        local op = model.op[name]
        for _, route in ipairs(op.routes or {}) do
            check_steps(route.steps, model, known)
        end
        if not op.broken then
            check_cycles(name, model, state, {})
            check_variants(op, model)
        end
    end
end

return M
