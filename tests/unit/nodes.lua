-- nodes.lua: marked nodes for tests, a stub of `host`, and checks.
-- Nested Lua literals stand for YAML: strings and numbers are plain scalars,
-- q"text" a quoted one, m{"key", value, ...} a map in that order, a list of
-- values a sequence. Lines count the scalars, so that no two share one.

local M = {}

local Q, MAP = {}, {}

function M.q(text) return setmetatable({text = text}, Q) end
function M.m(list) return setmetatable(list, MAP) end

local function mark(state, kind)
    state.line = state.line + 1
    return {kind = kind, path = state.path, line = state.line, col = 1}
end

local function build(value, state)
    local form = getmetatable(value)
    if type(value) ~= "table" or form == Q then
        local node = mark(state, "scalar")
        node.text = form == Q and value.text or tostring(value)
        node.plain = form ~= Q
        return node
    end
    local node = mark(state, form == MAP and "map" or "seq")
    if form ~= MAP then
        for i, item in ipairs(value) do node[i] = build(item, state) end
        return node
    end
    for i = 1, #value, 2 do
        node[#node + 1] = {key = build(value[i], state),
                           value = build(value[i + 1], state)}
    end
    return node
end

function M.node(value, path)
    return build(value, {line = 0, path = path or "t.yaml"})
end

-- A host whose files are `tree`: {["root/op/x.yaml"]=literal or text}.
-- Returns it with errors = {"path:line:col: text", ...}.
function M.host(tree)
    local errors = {}
    local host = {}
    function host.error(path, line, col, text)
        errors[#errors + 1] = string.format("%s:%d:%d: %s", path, line, col,
                                            text)
    end
    function host.errors() return #errors end
    function host.embedded() return nil end
    function host.int(text) return math.tointeger(tonumber(text)) end
    function host.number(text)
        local value = tonumber(text)
        return value and value + 0.0
    end
    function host.read(path)
        if tree[path] == nil then return nil, "no such file" end
        return tostring(tree[path])
    end
    function host.is_dir(path)
        for name in pairs(tree) do
            if name:sub(1, #path + 1) == path .. "/" then return true end
        end
        return false
    end
    function host.list(path)
        local seen, list = {}, {}
        for name in pairs(tree) do
            local entry = name:sub(1, #path + 1) == path .. "/"
                and name:sub(#path + 2):match("^[^/]+")
            if entry and not seen[entry] then
                seen[entry] = true
                list[#list + 1] = entry
            end
        end
        table.sort(list)
        return list
    end
    function host.yaml(path) return M.node(tree[path], path) end
    return host, errors
end

-- Installs such a host as the global that modules use.
function M.install(tree)
    local host, errors = M.host(tree or {})
    _G.host = host
    return errors
end

function M.ok(name, condition, detail)
    if not condition then
        error("FAILED " .. name .. ": " .. tostring(detail or ""), 2)
    end
    print("ok " .. name)
end

-- Whether one of errors contains all of the plain texts.
function M.told(errors, ...)
    for _, message in ipairs(errors) do
        local all = true
        for _, text in ipairs {...} do
            all = all and message:find(text, 1, true)
        end
        if all then return true end
    end
    return false
end

return M
