-- evidence.lua: what a certification run saw: JSON lines, one an attempt.
--
-- evidence.load(paths, known) -> {kernels={[isa \t symbol]=line},
--   keys={[isa \t key]={line of each config}}}; every line is held against
--   what the generator knows, and a wrong one is an error with file and line:
--   known.kernel(symbol) -> k or nil, known.hash(k), known.entry(key) -> entry
--   or nil, known.config(entry, text) -> k or nil, known.isa(name), known.tier,
--   known.left_out(op) -> bool.

local json = require "json"

local M = {}

local FIELDS = {
    kernel = {
        kind = "string", tier = "string", isa = "string", kernel = "string",
        op = "string", config = "string", hash = "string",
        cases = "integer", elements = "integer", error = "number",
        worst = "string", status = "string", check = "string",
        detail = "string", device = "string", compiler = "string",
        reach = "string",
    },
    key = {
        kind = "string", tier = "string", isa = "string", key = "string",
        ranges = "string", op = "string", config = "string", us = "number",
        spread = "number", rounds = "integer", call = "string",
        device = "string", compiler = "string", status = "string",
        reach = "string",
    },
}

local function is_kind(value, kind)
    if kind == "number" then
        return type(value) == "number"
    elseif kind == "integer" then
        return math.type(value) == "integer"
    end
    return type(value) == kind
end

-- Problem with a line's shape, or nil.
local function shape_problem(line)
    local fields = type(line) == "table" and FIELDS[line.kind]
    if not fields then
        return "kind is neither \"kernel\" nor \"key\""
    end
    for name, kind in pairs(fields) do
        if not is_kind(line[name], kind) then
            return ("field %s: expected %s"):format(name, kind)
        end
    end
    for name in pairs(line) do
        if not fields[name] then
            return ("unknown field %s"):format(name)
        end
    end
    if line.device:find("%c") or line.compiler:find("%c") then
        return "device and compiler take no tab, line end or other control"
    end
end

local function kernel_problem(line, known)
    local k = known.kernel(line.kernel)
    if not k then
        return "unknown kernel " .. line.kernel
    elseif line.op ~= k.op.name or line.config ~= k.config_text then
        return ("kernel %s is op %s with %s"):format(line.kernel, k.op.name,
            k.config_text)
    elseif known.hash(k) ~= line.hash then
        return ("kernel %s has changed since it was measured"):format(
            line.kernel)
    elseif line.status == "pass" and not (line.error >= 0
        and line.error <= 1) then
        return ("error %s of a passing kernel is not within its limit")
            :format(tostring(line.error))
    end
end

local function key_problem(line, known)
    local entry = known.entry(line.key)
    if not entry then
        return "key is not declared: " .. line.key
    elseif line.op ~= entry.op then
        return ("the key is op %s's: %s"):format(entry.op, line.key)
    elseif entry.ranges ~= line.ranges then
        return "the buckets of the key have moved: " .. line.key
    elseif not known.config(entry, line.config) then
        return ("config %s is no candidate of %s"):format(line.config,
            line.key)
    elseif not (line.us > 0 and line.us < math.huge) then
        return "us is not a time"
    end
end

local function problem_of(line, known)
    if line.tier ~= known.tier or not known.isa(line.isa) then
        return ("tier %s isa %s is not ours"):format(line.tier, line.isa)
    elseif line.reach ~= "measured" and line.reach ~= "forced" then
        return "reach is neither measured nor forced"
    elseif line.status ~= "pass" and line.status ~= "fail" then
        return "status is neither pass nor fail"
    elseif line.kind == "kernel" then
        return kernel_problem(line, known)
    end
    return key_problem(line, known)
end

local function keep(out, line)
    if line.kind == "kernel" then
        local id = line.isa .. "\t" .. line.kernel
        if out.kernels[id] then
            return "a second line for kernel " .. line.kernel
        end
        out.kernels[id] = line
        return nil
    end
    local id = line.isa .. "\t" .. line.key
    out.keys[id] = out.keys[id] or {}
    if out.keys[id][line.config] then
        return ("a second line for %s with %s"):format(line.key, line.config)
    end
    out.keys[id][line.config] = line
end

-- Keeps a good line; one of an op that --ops leaves out is passed over.
local function take(out, line, known)
    local problem = shape_problem(line)
    if not problem and known.left_out(line.op) then
        return nil
    end
    return problem or problem_of(line, known) or keep(out, line)
end

local function load_file(out, path, known)
    local text, why = host.read(path)
    if not text then
        host.error(path, 0, 0, why)
        return
    elseif text == "" then
        host.error(path, 0, 0, "is empty")
        return
    elseif text:sub(-1) ~= "\n" then
        host.error(path, 0, 0, "is cut short: its last line does not end")
        return
    end
    local number = 0
    for raw in text:gmatch("([^\n]*)\n") do
        number = number + 1
        local line, syntax = json.parse(raw)
        if line == nil then
            host.error(path, number, syntax.col, syntax.text)
        else
            local problem = take(out, line, known)
            if problem then
                host.error(path, number, 1, problem)
            end
        end
    end
end

function M.load(paths, known)
    local out = {kernels = {}, keys = {}}
    for _, path in ipairs(paths) do
        load_file(out, path, known)
    end
    return out
end

return M
