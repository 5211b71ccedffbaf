-- read/scalar.lua: marked scalars as the field's type says, never as they
-- look. Reads a node, a type (see read.lua) and the field's label; returns
-- the value, or nil after reporting. What YAML 1.1 and YAML 1.2 read
-- differently is refused with the spelling that both read alike.

local diag = require "diag"
local expr = require "expr"
local word = require "read.word"

local M = {}

local NULL = {["~"] = true, null = true, Null = true, NULL = true}

local BOOL = {} -- spelling of YAML 1.1 -> ours
for _, text in ipairs {"y", "yes", "on", "true"} do BOOL[text] = "true" end
for _, text in ipairs {"n", "no", "off", "false"} do BOOL[text] = "false" end

-- The text of a scalar that has one, else nil after reporting.
-- what: the type in words.
function M.text(node, label, what)
    if node.kind ~= "scalar" then
        diag.at(node, "%s expects %s, not a %s", label, what,
                node.kind == "map" and "mapping" or "list")
        return nil
    end
    if node.plain and node.text == "" then
        diag.at(node, '%s has no value; it expects %s (an empty text is "")',
                label, what)
        return nil
    end
    if node.plain and NULL[node.text] then
        diag.at(node, '%s has no value: %s; write "%s" for the text', label,
                node.text, node.text)
        return nil
    end
    return node.text
end

local function refuse(node, label, what, safe)
    local hint = safe and string.format("; write %s", safe) or ""
    diag.at(node, "%s expects %s, not %s%s", label, what,
            diag.show(node.text), hint)
    return nil
end

-- A number of another base, grouped, sexagesimal or with a sign, in decimal;
-- nil when text is none of these or too long to say.
local function decimal(text)
    local sign, rest = text:match("^([+-]?)(.*)$")
    rest = rest:gsub("_", "")
    if sign == "+" then sign = "" end
    if #rest > 15 then return nil end
    local hex = rest:match("^0[xX](%x+)$")
    if hex then return sign .. tonumber(hex, 16) end
    local octal = rest:match("^0o([0-7]+)$")
    if octal then return sign .. tonumber(octal, 8) end
    local binary = rest:match("^0b([01]+)$")
    if binary then return sign .. tonumber(binary, 2) end
    if rest:find("^%d+[:%d]*:%d+$") then
        local total = 0
        for part in rest:gmatch("%d+") do
            total = total * 60 + tonumber(part)
        end
        return sign .. total
    end
    local zeros = rest:match("^0+(%d+)$")
    if not zeros then return rest:match("^%d+$") and sign .. rest end
    if not zeros:find("^[0-7]+$") then return sign .. zeros end
    return string.format("%s%s (or %s%d, if octal was meant)", sign, zeros,
                         sign, tonumber(zeros, 8))
end

-- What an int field could have meant by text, or nil.
local function int_hint(text)
    local safe = decimal(text)
    if safe then return safe end
    local float = text:find("^[+-]?%d*%.?%d*[eE]?[+-]?%d*$")
        and host.number(text)
    if float and math.abs(float) < 2^53 and float == math.floor(float) then
        return string.format("%d", math.tointeger(float))
    end
    return nil
end

function M.int(node, spec, label)
    local what = "an integer"
    local text = M.text(node, label, what)
    if not text then return nil end
    if not node.plain then
        local bare = text:find("^-?%d+$") and text .. " without quotes"
        return refuse(node, label, what, bare)
    end
    if not text:find("^-?[1-9]%d*$") and not text:find("^-?0$") then
        return refuse(node, label, what, int_hint(text))
    end
    local value = host.int(text)
    if not value then
        return refuse(node, label, "a 64-bit integer")
    end
    if (spec.min and value < spec.min) or (spec.max and value > spec.max) then
        local range = spec.max
            and string.format("an integer from %d to %d", spec.min, spec.max)
            or string.format("an integer of at least %d", spec.min)
        return refuse(node, label, range)
    end
    return value
end

local SPECIAL = {
    [".inf"] = math.huge, ["-.inf"] = -math.huge, [".nan"] = 0.0 / 0.0,
}

local DIGITS = { -- a decimal number, its exponent cut off
    "^-?[1-9]%d*%.?%d*$", "^-?0$", "^-?0?%.%d+$", "^-?0%.$",
}

local function is_decimal(text)
    local mantissa, exponent = text:match("^([^eE]*)(.*)$")
    if exponent ~= "" and not exponent:find("^[eE][+-]?%d+$") then
        return false
    end
    for _, pattern in ipairs(DIGITS) do
        if mantissa:find(pattern) then return true end
    end
    return false
end

local function float_hint(text)
    local low = text:lower():gsub("^%+", "")
    if low:find("^-?%.?inf$") or low:find("^%.?nan$") then
        return (low:gsub("^(-?)%.?", "%1."))
    end
    local safe = decimal(text)
    if safe then return safe end
    local bare = text:gsub("[_+]", "")
    return is_decimal(bare) and bare or nil
end

function M.float(node, spec, label)
    local what = "a number"
    local text = M.text(node, label, what)
    if not text then return nil end
    if not node.plain then
        local bare = is_decimal(text) and text .. " without quotes"
        return refuse(node, label, what, bare)
    end
    if SPECIAL[text] then
        if not spec.finite then return SPECIAL[text] end
        return refuse(node, label, "a finite number")
    end
    if not is_decimal(text) then
        return refuse(node, label, what, float_hint(text))
    end
    local value = host.number(text)
    local lost = value == 0 and text:match("^[^eE]*"):find("[1-9]")
    if not value or math.abs(value) == math.huge or lost then
        return refuse(node, label, "a number that a double holds")
    end
    if spec.min and value < spec.min then
        return refuse(node, label,
                      string.format("a number of at least %d", spec.min))
    end
    return value + 0.0
end

function M.bool(node, _, label)
    local what = "true or false"
    local text = M.text(node, label, what)
    if not text then return nil end
    if node.plain and (text == "true" or text == "false") then
        return text == "true"
    end
    local safe = BOOL[text:lower()]
    if safe and not node.plain then safe = safe .. " without quotes" end
    return refuse(node, label, what, safe)
end

function M.string(node, _, label)
    return M.text(node, label, "a text")
end

-- One line of text.
function M.line(node, _, label)
    local text = M.text(node, label, "a line of text")
    if text and text:find("[\n\r]") then
        diag.at(node, "%s expects one line of text, not several", label)
        return nil
    end
    return text
end

local function named(kind)
    return function(node, _, label)
        local text = M.text(node, label, "a name")
        if not text then return nil end
        local fault = word.fault(text, kind)
        if not fault then return text end
        diag.at(node, "%s %s: %s", label, diag.show(text), fault)
        return nil
    end
end

M.name = named("name")
M.symbol = named("symbol")

function M.enum(node, spec, label)
    local text = M.text(node, label, "one of " .. diag.names(spec.names))
    if not text then return nil end
    for _, name in ipairs(spec.names) do
        if name == text then return text end
    end
    diag.unknown(node, label, text, spec.names)
    return nil
end

-- {text=, node=, ast=}; the syntax is checked here, names are not.
function M.expr(node, _, label)
    local text = M.text(node, label, "an expression")
    if not text then return nil end
    local ast, fault = expr.parse(text)
    if not ast then
        diag.in_expr(node, fault.at or 1, "%s: %s", label, fault.text)
        return nil
    end
    return {text = text, node = node, ast = ast}
end

return M
