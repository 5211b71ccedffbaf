-- bounds.lua: what the core's fixed arrays and packed keys have room for,
-- read from its headers.
--
-- bounds.check(op): errors to the sink for an op (see spec.lua) that is past.

local diag = require "diag"
local enum = require "enum"

local M = {}

-- Bits of a baked attribute in a packed key; ORDER: runtime/core/key.c.
local WIDTH = {bool = 1, string = 4, int = 8}

local function hold(op, what, n, most)
    if n > most then
        diag.at(op.node, "op %s: %d %s, at most %d are possible", op.name, n,
            what, most)
    end
end

local function count(list, field)
    local n = 0
    for _, item in ipairs(list) do
        n = n + (item[field] and 1 or 0)
    end
    return n
end

local function baked_bits(op)
    local bits = 0
    for _, attr in ipairs(op.attrs) do
        bits = bits + (attr.baked and WIDTH[attr.type] or 0)
    end
    return bits
end

function M.check(op)
    local most = enum.read("runtime/core/tables.h", "KILN_MAX_")
    local key = enum.read("runtime/core/key.h", "KILN_KEY_")
    local bind = enum.read("runtime/core/bind.h", "KILN_MAX_")
    hold(op, "tensors", #op.tensors, most.TENSORS.v)
    hold(op, "attributes", #op.attrs, most.ATTRS.v)
    hold(op, "lets", #op.lets, most.LETS.v)
    hold(op, "axes of the key", #op.key, most.AXES.v)
    hold(op, "routes", #op.routes, key.ROUTES.v)
    hold(op, "dtypes in the key", count(op.tensors, "keyed"), key.DTYPES.v)
    hold(op, "bits of baked attributes in the key (bool 1, string 4, int 8)",
        baked_bits(op), key.BAKED_BITS.v)
    for _, route in ipairs(op.routes) do
        hold(op, "temporaries of route " .. (route.name or "?"),
            #(route.temporaries or {}), bind.TEMPORARIES.v)
    end
    for _, attr in ipairs(op.attrs) do
        hold(op, "choices of " .. attr.name, #(attr.choices or {}),
            1 << WIDTH.string)
    end
end

return M
