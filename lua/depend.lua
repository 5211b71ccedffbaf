-- depend.lua: what a kernel's text reaches in the headers of its tier.
--
-- depend.closure(tokens, tier) -> the canonical tokens of every top-level piece
-- of the tier's headers that the tokens name, directly or through other pieces,
-- in the headers' order.

local M = {}

local CPU = {
    "runtime/cpu/half.h", "runtime/cpu/math.h", "runtime/cpu/rows.h",
}
local CUDA = {"runtime/cuda/device.cuh", "runtime/cuda/math.cuh"}

-- Cuts a header's text into top-level pieces: a directive, or text up to a
-- closing brace or semicolon at depth 0.
local function cut(text)
    local out, piece, depth = {}, {}, 0
    for line in (text:gsub("/%*.-%*/", "")):gmatch("[^\n]*\n") do
        if #piece > 0 or line:match("%S") then
            piece[#piece + 1] = line
        end
        local opens = select(2, line:gsub("[{(]", ""))
        local closes = select(2, line:gsub("[})]", ""))
        depth = depth + opens - closes
        local ends = line:match("[;}]%s*$") or line:match("^%s*#")
        if #piece > 0 and depth == 0 and ends
            and not line:match("\\%s*$") then
            out[#out + 1] = table.concat(piece)
            piece = {}
        end
    end
    return out
end

-- The names a piece defines: those before its first bracket, brace or `=`.
local function defined(tokens)
    local head = tokens:match("^# define ([%w_]+)")
    if head then
        return {head}
    end
    local out, plain = {}, tokens:gsub("alignas %( %w+ %)", "")
    for name in plain:match("^[^({=;]*"):gmatch("[%a_][%w_]*") do
        out[#out + 1] = name
    end
    return {out[#out]}
end

-- headers -> {pieces={tokens}, owner={[name]=numbers of pieces}, needs={}}.
local function load(headers)
    local out = {pieces = {}, owner = {}, needs = {}}
    for _, header in ipairs(headers) do
        for _, text in ipairs(cut(host.embedded(header) or "")) do
            local tokens = host.tokens(text)
            local index = #out.pieces + 1
            out.pieces[index] = tokens
            for _, name in ipairs(defined(tokens)) do
                out.owner[name] = out.owner[name] or {}
                table.insert(out.owner[name], index)
            end
        end
    end
    return out
end

-- Numbers of the pieces that define names of text.
local function named(set, text)
    local out, seen = {}, {}
    for name in text:gmatch("[%a_][%w_]*") do
        for _, index in ipairs(not seen[name] and set.owner[name] or {}) do
            out[#out + 1] = index
        end
        seen[name] = true
    end
    return out
end

local loaded = {}

function M.closure(tokens, tier)
    local headers = tier == "cpu" and CPU or CUDA
    loaded[headers] = loaded[headers] or load(headers)
    local set, taken = loaded[headers], {}
    local function take(list)
        for _, index in ipairs(list) do
            if not taken[index] then
                taken[index] = true
                set.needs[index] = set.needs[index]
                    or named(set, set.pieces[index])
                take(set.needs[index])
            end
        end
    end
    take(named(set, tokens))
    local out = {}
    for index, piece in ipairs(set.pieces) do
        if taken[index] then
            out[#out + 1] = piece
        end
    end
    return table.concat(out, "\n")
end

return M
