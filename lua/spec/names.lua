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

-- Parameters and variables of a typed call: see out/ops_h.lua.
local OF_CALLS = {ctx = true, stream = true, tensors = true, attrs = true}

-- The same for a tensor or attribute, which steps name as arguments and typed
-- calls as parameters.
function M.take_argument(scope, name, what, node)
    if OF_CALLS[name] or name:find("^kiln_") then
        diag.at(node, "%s means something else in the op's C function and "
                .. "cannot name %s", name, what)
        return false
    end
    if schema.step_words[name] then
        diag.at(node, "%s means something else in a step and cannot name %s",
                name, what)
        return false
    end
    return M.take(scope, name, what, node)
end

-- What an op's name makes, and the headers that may have it already.
local MADE = {
    {header = "runtime/kiln.h", prefix = "kiln_"},
    {header = "runtime/core/tables.h", prefix = "kiln_op_"},
}

-- Reports an op whose C names are the runtime's, or whose folder is ours.
function M.check_op(name, node)
    if name == "units" then
        diag.at(node, "op units: out/cpu/units is a folder of the tree's own; "
                .. "name the op otherwise")
    end
    for _, made in ipairs(MADE) do
        local word = made.prefix .. name
        local text = host.embedded(made.header) or ""
        if text:find("%f[%w_]" .. word .. "%f[^%w_]") then
            diag.at(node, "op %s: %s is %s's already; name the op otherwise",
                    name, word, made.header)
        end
    end
end

-- Reports a list of sizes longer than a tensor's rank may be.
function M.check_rank(list)
    local most = schema.most.rank
    if #list > most then
        diag.at(list.at[most + 1], "a tensor has at most %d dims", most)
    end
end

-- Reports a list (of `what`, in the plural) longer than the planner holds.
function M.check_count(map, most, what)
    if #map > most then
        diag.at(map[most + 1].node, "more than %d %s; an op has at most %d",
                most, what, most)
    end
end

return M
