-- expr_inline.lua: let, functions and calls of the expression compiler. What
-- stands for a name is copied to where it is used.
-- Reads expr_code.lua's Compiler and adds to it.

local Compiler = require "expr_code"
local calls = require "expr_call"
local scopes = require "expr_scope"
local types = require "expr_type"

local emit = Compiler.emit_node

function Compiler.find_local(env, name)
    while env and env.name ~= name do
        env = env.outer
    end
    return env
end

local ANYTHING = {code = {{op = "INT", argc = 0, i = 0, f = 0.0}},
                  type = "any"}

local function bind(env, name, value)
    return {name = name, code = value.code, type = value.type,
            attr = value.attr, outer = env}
end

-- Compiles a function's body with its parameters bound to values.
function Compiler:inline(f, values)
    local env = {name = f.name, self = true, outer = f.env}
    for i, param in ipairs(f.params) do
        env = bind(env, param, values[i])
    end
    return self:emit(f.body, env)
end

emit["let"] = function(self, node, env)
    local name = node.name
    if calls[name] or name == "bucket" then
        self:fail(node.at, "%s is built in: choose another name", name)
    elseif not node.params then
        local value = self:apart(node.value, env)
        return self:emit(node.body, bind(env, name, value))
    end
    local f = {name = name, params = node.params, body = node.value,
               env = env, outer = env}
    local out, values = self.out, {}
    for i in ipairs(node.params) do
        values[i] = ANYTHING
    end
    self.out = {}
    self:inline(f, values) -- for its errors, should it never be called
    self.out = out
    return self:emit(node.body, f)
end

--- Calls.

-- A function of the scope: errors in its body are placed at the call.
function Compiler:call_global(f, node, values)
    if self.active[f] then
        self:fail(node.at, "%s calls itself: recursion is refused", node.name)
    end
    local place = self.place
    self.place = place or node.at
    self.active[f] = true
    local type, attr = self:inline({name = node.name, params = f.params,
                                    body = f.body}, values)
    self.active[f] = nil
    self.place = place
    return type, attr
end

function Compiler:call_function(f, node, env)
    local values = {}
    if f.self then
        self:fail(node.at, "%s calls itself: recursion is refused", node.name)
    elseif not f.params then
        self:fail(node.at, "%s is not a function", node.name)
    elseif #f.params ~= #node.args then
        self:fail(node.at, "%s takes %d arguments (%s), not %d", node.name,
                  #f.params, table.concat(f.params, ", "), #node.args)
    end
    for i, arg in ipairs(node.args) do
        values[i] = self:apart(arg, env)
    end
    if f.name then
        return self:inline(f, values)
    end
    return self:call_global(f, node, values)
end

local function flatten(args)
    local flat = {}
    for _, arg in ipairs(args) do
        for _, item in ipairs(arg.kind == "list" and arg.items or {arg}) do
            flat[#flat + 1] = item
        end
    end
    return flat
end

function Compiler:bucket(node, env)
    local ladders = self.scope.ladders or {}
    local ladder, value = node.args[1], node.args[2]
    if #node.args ~= 2 then
        self:fail(node.at, "bucket takes a ladder and a size: "
                  .. "bucket(ladder, v)")
    elseif ladder.kind ~= "name" or not ladders[ladder.name] then
        self:fail(ladder.at, "bucket needs the name of a ladder%s",
                  scopes.meant(ladder.name or "", scopes.keys(ladders)))
    end
    self:need(self:emit(value, env), "i", value.at, "bucket")
    self:add("BUCKET", ladders[ladder.name], 1)
    return "int"
end

function Compiler:builtin(call, node, env)
    local args = flatten(node.args)
    local what, type = node.name, nil
    if #args < call.least or #args > call.most then
        self:fail(node.at, "%s has %d arguments; write %s", what, #args,
                  call.usage)
    elseif what == "transpose" and #args == 2 then
        self:fail(node.at, "transpose has 2 arguments; write %s", call.usage)
    end
    for i, arg in ipairs(args) do
        local at = math.min(i, #call.takes)
        local given = self:emit(arg, env)
        self:need(given, call.takes:sub(at, at), arg.at, what)
        type = type and types.mixed(type, given) or given
    end
    self:add(call.op, 0, #args)
    if call.gives ~= "number" then
        return call.gives
    end
    return type == "any" and "number" or type
end

function emit.call(self, node, env)
    local name = node.name
    local f = Compiler.find_local(env, name)
    if not f and calls[name] then
        return self:builtin(calls[name], node, env)
    elseif not f and name == "bucket" then
        return self:bucket(node, env)
    end
    f = f or (self.scope.functions or {})[name]
    if not f then
        local known = scopes.keys(calls)
        known[#known + 1] = "bucket"
        for known_name in pairs(self.scope.functions or {}) do
            known[#known + 1] = known_name
        end
        table.sort(known)
        self:fail(node.at, "unknown function %s%s", name,
                  scopes.meant(name, known))
    end
    return self:call_function(f, node, env)
end
