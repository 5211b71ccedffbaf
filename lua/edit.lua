-- edit.lua: the nearest name to a misspelt one.
-- Distance: optimal string alignment (Damerau 1964): insertions, deletions,
-- substitutions and swaps of neighbours, case ignored.

local M = {}

local LONGEST = 64 -- longer names are not compared

local function min3(a, b, c)
    if b < a then a = b end
    if c < a then a = c end
    return a
end

-- One row of the distance table from the two rows before it.
local function next_row(a, b, i, row, before)
    local new = {[0] = i}
    local ai = a:byte(i)
    for j = 1, #b do
        local cost = ai == b:byte(j) and 0 or 1
        local d = min3(row[j] + 1, new[j - 1] + 1, row[j - 1] + cost)
        if before and j > 1 and ai == b:byte(j - 1)
            and a:byte(i - 1) == b:byte(j) and before[j - 2] + 1 < d then
            d = before[j - 2] + 1
        end
        new[j] = d
    end
    return new
end

-- Edits that turn a into b.
function M.distance(a, b)
    a, b = a:lower(), b:lower()
    local before
    local row = {}
    for j = 0, #b do row[j] = j end
    for i = 1, #a do
        row, before = next_row(a, b, i, row, before), row
    end
    return row[#b]
end

-- The first of list (names) with the least distance to name, or nil when none
-- is near: more than a third of the letters would change.
function M.near(name, list)
    if #name > LONGEST then return nil end
    local best, found
    for _, candidate in ipairs(list) do
        local longer = math.max(#name, #candidate)
        if longer <= LONGEST then
            local d = M.distance(name, candidate)
            if d <= (longer + 2) // 3 and d < longer
                and (not best or d < best) then
                best, found = d, candidate
            end
        end
    end
    return found
end

return M
