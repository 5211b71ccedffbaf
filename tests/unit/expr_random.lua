-- expr_random.lua: compiles the cases of expr_gen.py for expr_driver.c.
-- Reads them from stdin; a text becomes `code TAB values TAB expected TAB
-- text`, code being op,argc,i,f (f as 16 hex digits) with blanks between, or
-- "refused" and the message. Run from the top folder.

package.path = "lua/?.lua;" .. package.path

local compile = require("expr_compile").compile

local scope = {functions = {}}

local function indices(words)
    local out = {}
    for i, word in ipairs(words) do
        out[word] = i - 1
    end
    return out
end

local function attrs(words)
    local out = {}
    for i, word in ipairs(words) do
        local name, type, rest = word:match("^(%w+):(%w+):?(.*)$")
        local choices = {}
        for choice in rest:gmatch("%w+") do
            choices[#choices + 1] = choice
        end
        out[name] = {index = i - 1, type = type, choices = choices}
    end
    return out
end

local function constants(words)
    local out = {}
    for _, word in ipairs(words) do
        local name, value = word:match("^(%w+):(.*)$")
        if value == "true" then
            out[name] = true
        else
            out[name] = math.tointeger(value) or tonumber(value)
        end
    end
    return out
end

local READ = {attrs = attrs, constants = constants}

local function header(line)
    local field, rest = line:match("^#(%w+) ?(.*)$")
    local words = {}
    for word in rest:gmatch("%S+") do
        words[#words + 1] = word
    end
    if field == "ladder" or field == "profile" or field == "chosen"
        or field == "pool" then
        print(line)
    else
        scope[field] = (READ[field] or indices)(words)
    end
end

local function code_text(code)
    local out = {}
    for i, ins in ipairs(code) do
        out[i] = ("%s,%d,%d,%016x"):format(ins.op, ins.argc, ins.i,
            string.unpack(">i8", string.pack(">d", ins.f)))
    end
    return table.concat(out, " ")
end

for line in io.lines() do
    if line:sub(1, 1) == "#" and not line:find("\t") then
        header(line)
    else
        local text, values, expected = line:match("^(.*)\t(.-)\t(.-)$")
        local made, why = compile(text, scope)
        print((made and code_text(made.code) or "refused " .. why.text)
              .. "\t" .. values .. "\t" .. expected .. "\t" .. text)
    end
end
