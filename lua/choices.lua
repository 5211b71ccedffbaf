-- choices.lua: what a lattice varies besides sizes.
--
-- choices.dtypes(op) -> lists of dtypes by tensor, false where not keyed
-- choices.attrs(op) -> lists of {name=, value=}: baked attributes' values
-- choices.aligns(arch, layout) -> alignment classes of its keys, false: none
-- choices.strided(tensor, layout, align) gives a tensor strides and an offset
--   of those classes

local M = {}

-- Strides of a shape whose rows lie `pitch` apart (nil: next to each other).
local function row_major(shape, unit, pitch)
    local strides, step = {}, unit
    for d = #shape, 1, -1 do
        strides[d] = step
        step = d == #shape and pitch or step * shape[d]
    end
    return strides
end

-- Elements from row to row of n: apart, and where they are to be aligned, at
-- multiples of 16 bytes for elements of any size.
local function pitch_of(n, align)
    return align == 16 and (n + 31) // 16 * 16 or n + 8
end

-- A vector splits into two rows, so that its rows can lie apart.
local function split(shape)
    local n = shape[1]
    if #shape == 1 and n >= 4 and n % 2 == 0 then
        return {2, n // 2}
    end
    return shape
end

function M.strided(tensor, layout, align)
    tensor.offset = align == 1 and 1 or 0
    if layout == "inner" then
        tensor.shape = split(tensor.shape)
        tensor.strides = row_major(tensor.shape, 1,
            pitch_of(tensor.shape[#tensor.shape] or 1, align))
    elseif layout == "general" then
        tensor.strides = row_major(tensor.shape, 2)
    end
    return tensor
end

function M.aligns(arch, layout)
    if arch.classes == 0 then
        return {false}
    end
    return layout == "general" and {1} or {16, 1}
end

-- Choices of keyed tensors' dtypes, as lists by tensor (nil: not keyed).
function M.dtypes(op)
    local out = {{}}
    for i, tensor in ipairs(op.tensors) do
        local grown = {}
        for _, chosen in ipairs(out) do
            local seen = {}
            local function add(dtype)
                if not seen[dtype] then
                    seen[dtype] = true
                    local copy = {table.unpack(chosen, 1, i - 1)}
                    copy[i] = dtype
                    grown[#grown + 1] = copy
                end
            end
            for _, dtype in ipairs(tensor.keyed and tensor.dtypes or {}) do
                add(dtype)
            end
            for j, other in ipairs(op.tensors) do
                for _, like in ipairs(tensor.keyed and tensor.like or {}) do
                    if other.name == like and chosen[j] then
                        add(chosen[j])
                    end
                end
            end
            if not tensor.keyed then
                chosen[i] = false
                grown[#grown + 1] = chosen
            end
        end
        out = grown
    end
    return out
end

function M.attrs(op)
    local out = {{}}
    for _, attr in ipairs(op.attrs) do
        local values = {}
        if attr.baked and attr.type == "bool" then
            values = {false, true}
        elseif attr.baked and attr.type == "string" then
            values = attr.choices
        elseif attr.baked then
            values = {attr.default}
        end
        for _, given in ipairs(op.lattice.attrs or {}) do
            if given.name == attr.name then
                values = given.values
            end
        end
        local grown = #values == 0 and out or {}
        for _, list in ipairs(out) do
            for _, value in ipairs(values) do
                local copy = {table.unpack(list)}
                copy[#copy + 1] = {name = attr.name, value = value}
                grown[#grown + 1] = copy
            end
        end
        out = grown
    end
    return out
end

return M
