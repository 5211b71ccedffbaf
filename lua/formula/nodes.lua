-- formula/nodes.lua: what each kind of node becomes: node kind ->
-- function(out, node) giving its value; out is the emitter. See formula.lua.

local emitter = require "formula.emitter"

local fail, of, operand = emitter.fail, emitter.of, emitter.operand
local PREC = emitter.PREC
local ATOM = PREC.atom

local M = {}

local COMPARE = {["=="] = PREC.equal, ["!="] = PREC.equal, ["<"] = PREC.less,
                 ["<="] = PREC.less, [">"] = PREC.less, [">="] = PREC.less}
local LOGIC = {["and"] = "&&", ["or"] = "||"}
-- Functions of math.h with their arguments; max and min take more, too.
local CALLS = {abs = 1, clamp = 3, erf = 1, erfc = 1, exp = 1, fma = 3,
               log = 1, max = 2, min = 2, sqrt = 1, tanh = 1}

function M.number(out, node) return out:constant(node.value) end
function M.string(out, node) return out:known(node.value) end
function M.bool(out, node) return out:known(node.value) end

local function fail_unknown(out, node)
    local all = {}
    for _, names in ipairs {out.scope, out.names, out.baked, out.dynamic} do
        for name in pairs(names) do all[#all + 1] = name end
    end
    emitter.fail_near(node.at, "name", node.name, all)
end

function M.name(out, node)
    local name = node.name
    local bound = out.scope[name]
    if bound and bound.params then
        fail(node.at, "%s is a function: write %s(...)", name, name)
    elseif bound then
        return bound
    elseif out.names[name] then
        out.used[name] = true
        return out:variable(name, out.names[name])
    elseif out.baked[name] ~= nil then
        return out:known(out.baked[name], name)
    elseif out.dynamic[name] then
        out.used[name] = true
        return out:variable(name, out.dynamic[name])
    end
    fail_unknown(out, node)
end

function M.unary(out, node)
    local kind = node.op == "-" and "number" or "condition"
    local a = out:expect(kind, node.a)
    if a.known ~= nil then return out:known(not a.known) end
    out.ops = out.ops + 1
    local sign = node.op == "-" and "-" or "!"
    return of(kind, PREC.unary, sign .. operand(a, ATOM))
end

local function is_product(node)
    return node.kind == "binary" and node.op == "*"
end

-- The text of a number, or of its negative: an argument.
local function argument(out, node, negative)
    local v = out:short(out:expect("number", node))
    if not negative then
        return v.text
    elseif v.text:find("^%-[%w_.]+$") then
        return v.text:sub(2)
    end
    return "-" .. operand(v, ATOM)
end

-- a + b or a - b with a product in it.
local function multiply_add(out, node)
    local a, b, minus = node.a, node.b, node.op == "-"
    if is_product(b) then
        local first = argument(out, b.a, minus)
        local second = argument(out, b.b)
        return out:call("mad", {first, second, argument(out, a)})
    end
    local first, second = argument(out, a.a), argument(out, a.b)
    return out:call("mad", {first, second, argument(out, b, minus)})
end

local function arithmetic(out, node)
    if node.op == "//" or node.op == "%" then
        fail(node.at, "%s has no meaning in a formula", node.op)
    end
    local additive = node.op == "+" or node.op == "-"
    if additive and (is_product(node.a) or is_product(node.b)) then
        return multiply_add(out, node)
    end
    local a = out:short(out:expect("number", node.a))
    local b = out:short(out:expect("number", node.b))
    if node.op == "/" and out.divide then
        return out:call("div", {a.text, b.text})
    end
    local prec = additive and PREC.sum or PREC.product
    out.ops = out.ops + 1
    return of("number", prec, string.format(
        "%s %s %s", operand(a, prec), node.op, operand(b, prec + 1)))
end

local function compare(out, node)
    local a, b = out:value(node.a), out:value(node.b)
    local ordered = COMPARE[node.op] == PREC.less
    if a.kind ~= b.kind or (ordered and a.kind ~= "number") then
        fail(node.at, "%s cannot compare a %s with a %s", node.op, a.kind,
             b.kind)
    elseif a.known ~= nil and b.known ~= nil then
        return out:known((a.known == b.known) == (node.op == "=="))
    elseif a.kind == "string" then
        fail(node.at, "only a baked attribute compares with a string")
    end
    out.ops = out.ops + 1
    return of("condition", COMPARE[node.op], string.format(
        "%s %s %s", operand(a, PREC.sum), node.op, operand(b, PREC.sum)))
end

-- A side that is known decides, or leaves the other.
local function logic(out, node)
    local decides = node.op == "or"
    local a = out:expect("condition", node.a)
    if a.known == decides then return a end
    local b = out:expect("condition", node.b)
    if b.known == decides or a.known ~= nil then
        return b
    elseif b.known ~= nil then
        return a
    end
    out.ops = out.ops + 1
    return of("condition", PREC[node.op], string.format(
        "%s %s %s", operand(a, PREC.equal), LOGIC[node.op],
        operand(b, PREC.equal)))
end

function M.binary(out, node)
    if COMPARE[node.op] then
        return compare(out, node)
    elseif LOGIC[node.op] then
        return logic(out, node)
    end
    return arithmetic(out, node)
end

M["if"] = function(out, node)
    local cond = out:expect("condition", node.cond)
    if cond.known ~= nil then
        return out:value(cond.known and node.yes or node.no)
    end
    local yes = out:short(out:value(node.yes))
    local no = out:short(out:value(node.no))
    if yes.kind ~= no.kind or yes.kind == "string" then
        fail(node.at, "the branches are a %s and a %s", yes.kind, no.kind)
    end
    out.ops = out.ops + 1
    return of(yes.kind, PREC.cond, string.format(
        "%s ? %s : %s", operand(cond, PREC["or"]), operand(yes, PREC["or"]),
        operand(no, PREC.cond)))
end

-- The first arm that holds, as a chain of ifs.
function M.match(out, node)
    if not node.default then
        fail(node.at, "a formula's match needs an else arm")
    end
    local chain = node.default
    for i = #node.arms, 1, -1 do
        local arm = node.arms[i]
        chain = {kind = "if", at = node.at, cond = arm.cond, yes = arm.value,
                 no = chain}
    end
    return out:value(chain)
end

M["let"] = function(out, node)
    local bound
    if node.params then
        bound = {name = node.name, params = node.params, value = node.value,
                 scope = out.scope}
    else
        bound = out:value(node.value)
        if bound.known == nil then bound = out:hoist(bound, node.name) end
    end
    local scope = setmetatable({[node.name] = bound}, {__index = out.scope})
    return out:within(scope, node.body)
end

-- A function of the formula's own: its arguments become lines, its body
-- stands in place of the call.
local function inline(out, node, own)
    if #node.args ~= #own.params then
        fail(node.at, "%s takes %d arguments, not %d", own.name, #own.params,
             #node.args)
    end
    local inner = {}
    for i, param in ipairs(own.params) do
        local v = out:value(node.args[i])
        if v.known == nil and v.prec < ATOM then
            v = out:hoist(v, own.name .. "_" .. param)
        end
        inner[param] = v
    end
    return out:within(setmetatable(inner, {__index = own.scope}), own.value)
end

local function check_call(node)
    local wanted, n = CALLS[node.name], #node.args
    local more = wanted == 2
    if not wanted then
        local all = {}
        for name in pairs(CALLS) do all[#all + 1] = name end
        emitter.fail_near(node.at, "function", node.name, all)
    elseif n < wanted or n > wanted and not more then
        fail(node.at, "%s takes %s%d argument%s, not %d", node.name,
             more and "at least " or "", wanted, wanted == 1 and "" or "s", n)
    end
end

function M.call(out, node)
    local own = out.scope[node.name]
    if own and own.params then return inline(out, node, own) end
    check_call(node)
    local args = {}
    for i, arg in ipairs(node.args) do args[i] = argument(out, arg) end
    if CALLS[node.name] ~= 2 then return out:call(node.name, args) end
    local text = args[1]
    for i = 2, #args do text = out:call(node.name, {text, args[i]}).text end
    return of("number", ATOM, text)
end

return M
