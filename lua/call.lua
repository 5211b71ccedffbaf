-- call.lua: a call of an op as text, and back.
--
--   softmax x=f16[4096, batch * 2]:[8192, 1]+3 y=f32 dim=-1 log=true
--
-- A tensor is NAME=DTYPE[sizes], then :[strides] in elements (row-major when
-- absent) and +offset in elements; `none` is an absent one. Sizes are
-- expressions over given constants. A tensor not written, or written as its
-- dtype alone, takes what the op's rules give. The rest are attributes.
--
-- call.parse(text, model, handle, constants) -> call | nil, {at=, text=}
-- call.complete(handle, op, call) -> call, its outputs filled in, or as parse
-- call.text(call, model) -> text with every tensor and attribute spelt out
--   call = {op=, tensors={{dtype=, shape=, strides=, offset=} or false},
--           attrs={{name=, value=}}}, tensors in the op's order

local compile = require "compile"
local edit = require "edit"
local enum = require "enum"

local M = {}

local function fail(at, ...)
    error({at = at, text = string.format(...)}, 0)
end

-- Words of text with their offsets, split at blanks outside brackets.
local function words(text)
    local out, depth, start = {}, 0, nil
    for i = 1, #text do
        local c = text:sub(i, i)
        if c == "[" or c == "(" then
            depth = depth + 1
        elseif c == "]" or c == ")" then
            depth = depth - 1
        end
        if c:match("%s") and depth <= 0 then
            if start then
                out[#out + 1] = {at = start, text = text:sub(start, i - 1)}
            end
            start = nil
        else
            start = start or i
        end
    end
    if start then
        out[#out + 1] = {at = start, text = text:sub(start)}
    end
    return out
end

-- Comma-separated expressions of a bracket, evaluated.
local function sizes(text, at, constants)
    local out, depth, start = {}, 0, 1
    local function add(stop)
        local item = text:sub(start, stop)
        if not item:match("%S") then
            fail(at + start, "empty size")
        end
        local value, why = compile.constants(item, constants)
        if math.type(value) ~= "integer" then
            fail(at + start, "%s: %s", item:match("^%s*(.-)%s*$"),
                why and why.text or "is not an integer")
        end
        out[#out + 1] = value
        start = stop + 2
    end
    for i = 1, #text do
        local c = text:sub(i, i)
        depth = depth + ((c == "(" or c == "[") and 1
            or (c == ")" or c == "]") and -1 or 0)
        if c == "," and depth == 0 then
            add(i - 1)
        end
    end
    if text:match("%S") then
        add(#text)
    end
    local most = enum.read("runtime/core/tables.h", "KILN_MAX_").RANK.v
    if #out > most then
        fail(at, "%d sizes; a tensor has at most %d dims", #out, most)
    end
    return out
end

local function is_dtype(name)
    local known = enum.read("runtime/core/dtype.h", "KILN_")
    return name == name:lower() and known[name:upper()] ~= nil
        and name ~= "none" and name ~= "dtype_count"
end

local function parse_tensor(word, value, at, constants)
    if value == "none" then
        return false
    end
    local dtype, rest = value:match("^([%w_]+)(.*)$")
    if not dtype or not is_dtype(dtype) then
        fail(at, "%s: expected DTYPE[sizes], such as f16[4096, 128]", word)
    end
    local tensor = {dtype = dtype, offset = 0}
    local shape = rest:match("^%b[]")
    if shape then
        tensor.shape = sizes(shape:sub(2, -2), at + #dtype, constants)
        rest = rest:sub(#shape + 1)
        local strides = rest:match("^:(%b[])")
        if strides then
            tensor.strides = sizes(strides:sub(2, -2), at, constants)
            rest = rest:sub(#strides + 2)
        end
    end
    local offset = rest:match("^%+(%d+)$")
    if offset then
        tensor.offset = host.int(offset)
            or fail(at, "%s: offset %s is outside int64", word, offset)
    elseif rest ~= "" then
        fail(at, "%s: unexpected %q", word, rest)
    end
    if tensor.strides and #tensor.strides ~= #tensor.shape then
        fail(at, "%s: %d strides for rank %d", word, #tensor.strides,
            #tensor.shape)
    end
    return tensor
end

local function parse_attr(attr, value, at)
    if attr.type == "bool" then
        if value ~= "true" and value ~= "false" then
            fail(at, "%s expects true or false", attr.name)
        end
        return value == "true"
    elseif attr.type == "string" then
        return value
    end
    local number = attr.type == "int" and host.int(value)
        or attr.type == "float" and host.number(value)
    if not number then
        fail(at, "%s expects a %s", attr.name,
            attr.type == "int" and "whole number" or "number")
    end
    return number
end

local function find(list, name)
    for i, item in ipairs(list) do
        if item.name == name then
            return i, item
        end
    end
end

local function known_names(op)
    local out = {}
    for _, list in ipairs {op.tensors, op.attrs} do
        for _, item in ipairs(list) do
            out[#out + 1] = item.name
        end
    end
    return out
end

local function parse_item(call, op, word, constants)
    local name, value = word.text:match("^([%a_][%w_]*)=(.*)$")
    if not name then
        fail(word.at, "%s: expected NAME=VALUE", word.text)
    end
    local at = word.at + #name + 1
    local index = find(op.tensors, name)
    local _, attr = find(op.attrs, name)
    if index then
        if call.tensors[index] ~= nil then
            fail(word.at, "%s is given twice", name)
        end
        call.tensors[index] = parse_tensor(word.text, value, at, constants)
    elseif attr then
        if find(call.attrs, name) then
            fail(word.at, "%s is given twice", name)
        end
        call.attrs[#call.attrs + 1] = {
            name = name, value = parse_attr(attr, value, at),
        }
    else
        local near = edit.near(name, known_names(op))
        fail(word.at, "op %s has no tensor or attribute %s%s; it has: %s",
            op.name, name, near and (", did you mean %s?"):format(near) or "",
            table.concat(known_names(op), ", "))
    end
end

local function of_tensors(op, call, list)
    local out = {}
    for i, name in ipairs(list) do
        local index = find(op.tensors, name)
        local given = call.tensors[index]
        out[i] = given and given.dtype or "none"
    end
    return out
end

local function infer_dtype(op, call, tensor)
    if tensor.promote and #tensor.promote > 0 then
        return core.promote(table.unpack(of_tensors(op, call,
            tensor.promote)))
    elseif #tensor.like > 0 then
        return of_tensors(op, call, tensor.like)[1]
    end
    return tensor.dtypes[1]
end

-- Sizes of all inputs broadcast together; the call's outputs have no shape
-- yet.
local function broadcast(handle, op, call)
    local inputs = {op = op.name, tensors = {}}
    for i, tensor in ipairs(op.tensors) do
        inputs.tensors[i] = tensor.role ~= "out" and call.tensors[i] or false
    end
    local shape, why = handle:broadcast(inputs)
    if not shape then
        fail(1, "op %s: %s", op.name, why)
    end
    return shape
end

local function infer(handle, op, call, index)
    local tensor = op.tensors[index]
    local given = call.tensors[index]
    if given == nil and tensor.optional then
        call.tensors[index] = false
        return
    elseif given == false or not given and tensor.role ~= "out" then
        fail(1, "op %s: tensor %s is required", op.name, tensor.name)
    end
    given = given or {offset = 0}
    given.dtype = given.dtype or infer_dtype(op, call, tensor)
    if not given.shape and tensor.shape == "broadcast" then
        given.shape = broadcast(handle, op, call)
    elseif not given.shape and tensor.shape and tensor.shape.tensor then
        local like = call.tensors[find(op.tensors, tensor.shape.tensor)]
        given.shape = {table.unpack(like.shape)}
    elseif not given.shape then
        fail(1, "op %s: tensor %s: give its sizes", op.name, tensor.name)
    end
    call.tensors[index] = given
end

-- What f gives, or nil and the problem that fail raised in it.
local function try(f)
    local done, result = pcall(f)
    if done then
        return result
    elseif type(result) == "table" then
        return nil, result
    end
    error(result, 0)
end

-- Fills in what the op's rules decide, inputs before outputs.
local function complete(handle, op, call)
    for _, outputs in ipairs {false, true} do
        for i, tensor in ipairs(op.tensors) do
            local absent = call.tensors[i] == false and tensor.optional
            if (tensor.role == "out") == outputs and not absent then
                infer(handle, op, call, i)
            end
        end
    end
    return call
end

function M.complete(handle, op, call)
    return try(function() return complete(handle, op, call) end)
end

function M.parse(text, model, handle, constants)
    return try(function()
        local list = words(text)
        local name = list[1] and list[1].text or ""
        local op = model.op[name]
        if not op then
            local known = {}
            for i, o in ipairs(model.ops) do
                known[i] = o.name
            end
            local near = edit.near(name, known)
            fail(1, "no op %q%s", name,
                near and (", did you mean %s?"):format(near) or "")
        end
        local call = {op = name, tensors = {}, attrs = {}}
        for i = 2, #list do
            parse_item(call, op, list[i], constants or {})
        end
        return complete(handle, op, call)
    end)
end

local function tensor_text(tensor)
    if not tensor then
        return "none"
    end
    local text = ("%s[%s]"):format(tensor.dtype,
        table.concat(tensor.shape, ","))
    if tensor.strides then
        text = ("%s:[%s]"):format(text, table.concat(tensor.strides, ","))
    end
    if tensor.offset and tensor.offset ~= 0 then
        text = ("%s+%d"):format(text, tensor.offset)
    end
    return text
end

function M.text(call, model)
    local op = model.op[call.op]
    local out = {call.op}
    for i, tensor in ipairs(op.tensors) do
        out[#out + 1] = tensor.name .. "=" .. tensor_text(call.tensors[i])
    end
    for _, attr in ipairs(call.attrs) do
        local value = attr.value
        if math.type(value) == "float" then
            value = host.float(value)
        end
        out[#out + 1] = attr.name .. "=" .. tostring(value)
    end
    return table.concat(out, " ")
end

return M
