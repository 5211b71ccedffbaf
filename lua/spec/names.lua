-- spec/names.lua: the names that one op's expressions can use, each once.

local diag = require "diag"
local schema = require "schema"

local M = {}

local DTYPE = {}
for _, name in ipairs(schema.dtypes) do DTYPE[name] = true end

-- A scope; names of `outer` (may be nil) are taken there too.
function M.scope(outer)
    return {outer = outer, taken = {}}
end

local function holder(scope, name)
    while scope do
        if scope.taken[name] then return scope.taken[name] end
        scope = scope.outer
    end
    return nil
end

-- Takes name for `what` ("a tensor"); reports and returns false when it is
-- taken or is a dtype's. node: where it stands.
function M.take(scope, name, what, node)
    if DTYPE[name] then
        diag.at(node, "%s is a dtype and cannot name %s", name, what)
        return false
    end
    local old = holder(scope, name)
    if old then
        diag.at(node, "%s is already %s of this op, at line %d", name,
                old.what, old.node.line)
        return false
    end
    scope.taken[name] = {what = what, node = node}
    return true
end

-- The same for a tensor or attribute, which steps name as arguments.
function M.take_argument(scope, name, what, node)
    if schema.step_words[name] then
        diag.at(node, "%s means something else in a step and cannot name %s",
                name, what)
        return false
    end
    return M.take(scope, name, what, node)
end

-- Reports a list (of `what`, in the plural) longer than the planner holds.
function M.check_count(map, most, what)
    if #map > most then
        diag.at(map[most + 1].node, "more than %d %s; an op has at most %d",
                most, what, most)
    end
end

return M
