-- diag.lua: errors at a place of a spec. A small face over host.error; every
-- message names the problem and what is allowed, or the nearest name.

local edit = require "edit"

local M = {}

local LONGEST = 60 -- bytes of a user's text that a message repeats
local SHOWN = 16   -- names that a message lists

-- A user's text as a message shows it: one line, bounded, quoted when it
-- could be misread.
function M.show(text)
    local cut = text
    if #cut > LONGEST then
        local last = LONGEST -- not inside a character
        while last > 0 and (cut:byte(last + 1) & 0xC0) == 0x80 do
            last = last - 1
        end
        cut = cut:sub(1, last) .. "..."
    end
    cut = cut:gsub("[\0-\31\127]", function(c)
        return string.format("\\x%02x", c:byte())
    end)
    if text:find("^[%w_.-][%w_.+-]*$") then return cut end
    return '"' .. cut .. '"'
end

-- names as a message lists them.
function M.names(list)
    if #list <= SHOWN then return table.concat(list, ", ") end
    return table.concat(list, ", ", 1, SHOWN) .. ", ..."
end

-- Reports at a node's own place.
function M.at(node, fmt, ...)
    host.error(node.path, node.line, node.col, string.format(fmt, ...))
end

-- Reports at byte `at` (from 1) of a scalar's text: exact where the text
-- stands on one line as it is, else the scalar's own place.
function M.in_expr(node, at, fmt, ...)
    local col = node.col
    local folded = node.block or node.text:find("\n", 1, true)
        or (node.end_line and node.end_line ~= node.line)
    if not folded then
        local before = node.text:sub(1, at - 1)
        col = col + (utf8.len(before) or #before)
        if not node.plain then col = col + 1 end
    end
    host.error(node.path, node.line, col, string.format(fmt, ...))
end

-- Reports a name that is none of list; what: "field", "dtype".
-- suffix (may be nil): where it was looked for, " of tensor x".
function M.unknown(node, what, name, list, suffix)
    local near = edit.near(name, list)
    local hint = near and string.format("; did you mean %s?", near) or ""
    local allowed = #list > 0 and M.names(list) or "none"
    M.at(node, "unknown %s %s%s%s (allowed: %s)", what, M.show(name),
         suffix or "", hint, allowed)
end

return M
