-- spec/route.lua: an op's routes: variants, or steps with temporaries.
-- Reads the list of `routes:`; returns the records that spec.lua describes.

local diag = require "diag"
local expr = require "expr"
local names = require "spec.names"
local schema = require "schema"
local word = require "read.word"

local M = {}

local IS_DTYPE = {}
for _, name in ipairs(schema.dtypes) do IS_DTYPE[name] = true end

-- Part of a scalar's text as a scalar of its own, at its own place.
local function part_node(node, text, at)
    local col = node.col + at - 1 + (node.plain and 0 or 1)
    local folded = node.block or (node.end_line and node.end_line ~= node.line)
    return {
        kind = "scalar", text = text, plain = true, path = node.path,
        line = node.line, end_line = node.end_line, block = node.block,
        col = folded and node.col or col,
    }
end

-- Splits at commas outside brackets: {{text=, at=}, ...}.
local function split(text, from)
    local parts, depth, start = {}, 0, 1
    for at = 1, #text + 1 do
        local c = text:sub(at, at)
        if c:find("^[(%[]") then depth = depth + 1 end
        if c:find("^[)%]]") then depth = depth - 1 end
        if at > #text or (c == "," and depth == 0) then
            local blank, body = text:sub(start, at - 1):match("^(%s*)(.-)%s*$")
            parts[#parts + 1] = {text = body, at = from + start - 1 + #blank}
            start = at + 1
        end
    end
    return parts
end

local function part_expr(node, part)
    local ast, fault = expr.parse(part.text)
    if not ast then
        diag.in_expr(node, part.at + (fault.at or 1) - 1, "range: %s",
                     fault.text)
        return nil
    end
    return {text = part.text, ast = ast,
            node = part_node(node, part.text, part.at)}
end

local ZERO_ONE = {"0", "1"}

local function constant(node, i)
    local text = ZERO_ONE[i]
    return {text = text, node = node, ast = expr.parse(text)}
end

-- "chunk in range(0, T, rows)" into {var=, start=, stop=, step=}.
local function read_loop(node)
    local var, from, inner = node.text:match(
        "^%s*([%w_]+)%s+in%s+range%s*%(()(.*)%)%s*$")
    local parts = inner and split(inner, from)
    if not parts or #parts > 3 or inner:find("^%s*$") then
        diag.at(node, 'for expects "v in range(start, stop, step)", not %s',
                diag.show(node.text))
        return nil
    end
    local fault = word.fault(var, "symbol")
    if fault then
        diag.at(node, "for %s: %s", diag.show(var), fault)
        return nil
    end
    local got = {}
    for i, part in ipairs(parts) do got[i] = part_expr(node, part) end
    local loop = {var = var, start = got[1], stop = got[2], step = got[3]}
    if #parts == 1 then
        loop.start, loop.stop = constant(node, 1), got[1]
    end
    if #parts < 3 then loop.step = constant(node, 2) end
    return loop
end

local read_steps

local function read_for(value, scope, depth)
    local inner = names.scope(scope)
    local loop = value["for"] and read_loop(value.at["for"])
    if loop then names.take(inner, loop.var, "a loop", value.at["for"]) end
    if depth == schema.most.loops then
        diag.at(value.node, "loops nest at most %d deep", schema.most.loops)
    end
    return {
        loop = loop, when = value.when, node = value.node,
        steps = read_steps(value.steps or {}, inner, depth + 1),
    }
end

local function read_step(value)
    local args = {}
    for i, entry in ipairs(value.rest) do
        args[i] = {name = entry.name, text = entry.value.text,
                   node = entry.value.node, ast = entry.value.ast,
                   name_node = entry.node}
    end
    return {op = value.op, when = value.when, args = args, node = value.node,
            op_node = value.at.op}
end

function read_steps(list, scope, depth)
    local steps = {}
    for i, value in ipairs(list) do
        if value.rest then
            steps[i] = read_step(value)
        else
            steps[i] = read_for(value, scope, depth)
        end
    end
    return steps
end

local function read_temporary(entry, tensors)
    local value = entry.value
    local t = {name = entry.name, node = entry.node, shape = value.shape or {},
               zeroed = value.zeroed or false}
    if #t.shape > schema.most.rank then
        diag.at(t.shape.at[schema.most.rank + 1],
                "a temporary has at most %d dims", schema.most.rank)
    end
    local allowed = {}
    for i, tensor in ipairs(tensors) do
        allowed[i] = tensor.name
        if tensor.name == value.dtype then t.dtype_like = value.dtype end
    end
    if IS_DTYPE[value.dtype] then t.dtype = value.dtype end
    if value.dtype and not t.dtype and not t.dtype_like then
        table.move(schema.dtypes, 1, #schema.dtypes, #allowed + 1, allowed)
        diag.unknown(value.at.dtype, "dtype or tensor", value.dtype, allowed)
    end
    return t
end

local function read_route(value, tensors, scope)
    local inner = names.scope(scope)
    local temporaries = {}
    for _, entry in ipairs(value.temporaries or {}) do
        if names.take(inner, entry.name, "a temporary", entry.node) then
            temporaries[#temporaries + 1] = read_temporary(entry, tensors)
        end
    end
    return {
        name = value.variant or value.name, variant = value.variant,
        when = value.when, node = value.node, temporaries = temporaries,
        steps = read_steps(value.steps or {}, inner, 0),
    }
end

-- list: the value of `routes:`, may be nil. scope: the op's names.
function M.read(list, tensors, scope)
    local routes, seen, always = {}, {}, nil
    for i, value in ipairs(list or {}) do
        local route = read_route(value, tensors, scope)
        routes[i] = route
        if route.name and seen[route.name] then
            diag.at(route.node, "route %s stands twice", route.name)
        elseif always then
            diag.at(route.node, "route %s is never reached: route %s before "
                    .. "it has no when", route.name or "?", always)
        end
        if route.name then seen[route.name] = true end
        if not value.at.when then always = route.name or "?" end
    end
    return routes
end

return M
