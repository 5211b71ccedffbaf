-- formula/emitter.lua: what the C of a formula is put together with: values,
-- names, constants, lines. See formula.lua.
--
-- A value is {kind = "number", "condition" or "string", text = C expression,
-- prec = how it binds}, or {kind =, known = its value} where baked attributes
-- decide it.

local edit = require "edit"

local Emitter = {}
Emitter.__index = Emitter

local LONGEST = 64 -- bytes of an operand before it gets a line of its own

-- Precedence of C's operators, loosest first.
Emitter.PREC = {cond = 1, ["or"] = 2, ["and"] = 3, equal = 4, less = 5,
                sum = 6, product = 7, unary = 8, atom = 9}
local ATOM = Emitter.PREC.atom

local COMMON = {[0.5] = "half", [2] = "two"} -- constants with plain names

local RESERVED = {}
for word in ([[
    and auto bool break case catch char class const continue default delete do
    double else enum explicit export extern false float for friend goto if
    inline int long mutable namespace new not operator or private protected
    public register restrict return short signed sizeof static struct switch
    template this throw true try typedef typename union unsigned using virtual
    void volatile while xor]]):gmatch("%l+") do
    RESERVED[word] = true
end

function Emitter.c_name(name)
    return RESERVED[name] and name .. "_" or name
end

function Emitter.fail(at, ...)
    error({at = at, text = string.format(...)}, 0)
end

-- Fails because `name` is none of `list`; what: "function".
function Emitter.fail_near(at, what, name, list)
    table.sort(list)
    local near = edit.near(name, list)
    local hint = near and "; did you mean " .. near .. "?" or ""
    Emitter.fail(at, "unknown %s %s%s (allowed: %s)", what, name, hint,
                 table.concat(list, ", "))
end

function Emitter.of(kind, prec, text)
    return {kind = kind, prec = prec, text = text}
end

-- v's text as an operand of an operator that binds like `least`.
function Emitter.operand(v, least)
    if v.known ~= nil then return v.known and "1" or "0" end
    return v.prec < least and "(" .. v.text .. ")" or v.text
end

-- A C name that is free: base, base_2 ...
function Emitter:fresh(base)
    base = Emitter.c_name(base)
    local name, n = base, 1
    while self.taken[name] do
        n = n + 1
        name = base .. "_" .. n
    end
    self.taken[name] = true
    return name
end

-- v under a name of its own, on a line of its own.
function Emitter:hoist(v, base)
    local name = self:fresh(base)
    local ctype = v.kind == "condition" and "int" or self.type
    self.lines[#self.lines + 1] =
        string.format("const %s %s = %s;", ctype, name, v.text)
    if v.kind == "condition" then
        return Emitter.of("condition", Emitter.PREC.equal, name .. " != 0")
    end
    return Emitter.of("number", ATOM, name)
end

function Emitter:short(v)
    if v.known ~= nil or #v.text <= LONGEST then return v end
    return self:hoist(v, "part")
end

function Emitter:literal(number)
    return host.float(number + 0.0) .. (self.type == "float" and "f" or "")
end

-- A number's value; name: of the attribute that it comes from, or nil.
function Emitter:constant(number, name)
    local size = math.abs(number)
    local text = self.constant_of[size]
    if size == 0 or size == 1 then
        text = self:literal(size)
    elseif not text then
        local coef = "coef_" .. self.n_coefs
        text = self:fresh(name or COMMON[size] or coef)
        if text == coef then self.n_coefs = self.n_coefs + 1 end
        self.constant_of[size] = text
        self.constants[#self.constants + 1] = string.format(
            "const %s %s = %s;", self.type, text, self:literal(size))
    end
    if number < 0 then
        return Emitter.of("number", Emitter.PREC.unary, "-" .. text)
    end
    return Emitter.of("number", ATOM, text)
end

-- What a baked attribute or a literal is worth.
function Emitter:known(v, name)
    if type(v) == "string" then
        return {kind = "string", known = v}
    elseif type(v) == "boolean" then
        return {kind = "condition", known = v}
    end
    return self:constant(v, name)
end

-- Arithmetic operations of a function of math.h.
function Emitter.operations(name)
    return (name == "mad" or name == "fma") and 2 or 1
end

-- A call of math.h's function for the type computed in.
function Emitter:call(name, args)
    local full = string.format("kiln_%s_%s", name, self.suffix)
    self.functions[full] = true
    self.ops = self.ops + Emitter.operations(name)
    local text = full .. "(" .. table.concat(args, ", ") .. ")"
    return Emitter.of("number", ATOM, text)
end

-- A tensor or dynamic attribute called `name`, in C `text`.
function Emitter:variable(name, text)
    if self.bools[name] then
        return Emitter.of("condition", Emitter.PREC.equal, text .. " != 0")
    end
    return Emitter.of("number", ATOM, text)
end

-- Evaluates body in `scope`.
function Emitter:within(scope, body)
    local before = self.scope
    self.scope = scope
    local v = self:value(body)
    self.scope = before
    return v
end

function Emitter:value(node)
    local handle = self.nodes[node.kind]
    if not handle then
        Emitter.fail(node.at, "%s is not for formulas", node.kind == "arch"
                     and "arch." .. node.name or "a list")
    end
    return handle(self, node)
end

function Emitter:expect(kind, node)
    local v = self:value(node)
    if v.kind ~= kind then
        Emitter.fail(node.at, "a %s is wanted here, not a %s", kind, v.kind)
    end
    return v
end

-- nodes: node kind -> function(emitter, node) giving its value.
function Emitter.new(options, nodes)
    local self = setmetatable({
        type = options.type, suffix = options.type == "float" and "f32"
            or "f64",
        names = options.names, bools = options.bools or {},
        baked = options.baked or {}, dynamic = options.dynamic or {},
        divide = options.divide, nodes = nodes, scope = {}, lines = {},
        constants = {}, constant_of = {}, n_coefs = 1, functions = {},
        used = {}, ops = 0, taken = {},
    }, Emitter)
    for _, names in ipairs {self.names, self.dynamic} do
        for _, c in pairs(names) do self.taken[c] = true end
    end
    return self
end

return Emitter
