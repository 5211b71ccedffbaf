-- expr_type.lua: what is known of a value's type before it is computed.
--
-- Types: int, float, number (one of both), bool, tensor, string (an attribute
-- held as its choice's index), any (known at run time alone).

local M = {}

local FITS = {
    i = {int = true, number = true, any = true},
    n = {int = true, float = true, number = true, any = true},
    b = {bool = true, any = true},
    t = {tensor = true, any = true},
}

M.words = {i = "an int", n = "a number", b = "a bool", t = "a tensor"}

M.names = {
    int = "an int", float = "a float", number = "a number", bool = "a bool",
    tensor = "a tensor", string = "a string", any = "a value",
}

-- Whether a value of the type may serve where `letter` is wanted.
function M.fits(type, letter)
    return FITS[letter][type] == true
end

-- The type of a + b, min(a, b) and their like, of numbers.
function M.mixed(a, b)
    if a == b and a ~= "any" then
        return a
    end
    return "number"
end

-- The same where a float wins over an int.
function M.sum(a, b)
    if a == "float" or b == "float" then
        return "float"
    end
    return M.mixed(a, b)
end

-- The type of a value that is one of two; nil when they have no type in
-- common.
function M.either(a, b)
    if a == b then
        return a
    elseif a == "any" or b == "any" then
        return "any"
    elseif M.fits(a, "n") and M.fits(b, "n") then
        return "number"
    end
    return nil
end

return M
