-- kernels.lua: what can run: the configs that tiling specs allow for a group
-- of keys, their names, texts and hashes.
--
-- kernels.candidates(model, entry, tier) -> {kernel, ...} in config order, or
--   {} after an error: those of the entry's group; entry: see lattice.lua. A
--   kernel is the family's k record (op, variant, tier, dtypes, keyed, baked,
--   layout, align, config, symbol, key_class, tiling, spec) and group=,
--   config_text=, config_word= (how the symbol ends).
-- kernels.tile(model, op, variant, tier): what is written of it under tiling/
-- kernels.serves(kernel, entry): whether `require` lets it serve that key
-- kernels.text(kernel) -> its C text; kernels.recipe(kernel) -> compiled
-- kernels.path(kernel) -> its file below out/
-- kernels.hash(kernel) -> hex: see the words on binding in hash_of.

local c = require "family.c"
local cuda = require "family.cuda"
local compile = require "compile"
local depend = require "depend"
local diag = require "diag"
local enum = require "enum"
local schema = require "schema"

local M = {}

local SYMBOL_MAX = 63

-- The tiling of an op's family and its entry for a variant on a tier, or nil.
function M.tile(model, op, variant, tier)
    local tiling = model.tilings[op.family]
    for _, t in ipairs(tiling and tiling.tiers or {}) do
        if t.name == tier then
            for _, v in ipairs(t.variants) do
                if v.name == variant then
                    return tiling, v
                end
            end
        end
    end
end

-- Every combination of the config's lists, fields in their order.
local function products(config)
    local out = {{}}
    for _, field in ipairs(config) do
        local grown = {}
        for _, chosen in ipairs(out) do
            for _, value in ipairs(field.values) do
                local copy = {table.unpack(chosen)}
                copy[#copy + 1] = {name = field.name, value = value}
                grown[#grown + 1] = copy
            end
        end
        out = grown
    end
    return out
end

-- What `require` may name: the config's fields, and numbers of the key's text:
-- baked attributes, the upper edges of its buckets, and its alignment.
local function required(k, key)
    local node, constants = k.tile.require.node, {}
    for name, value in key:gmatch("([%w_]+)=(%-?%d+)") do
        constants[name] = math.tointeger(tonumber(value))
    end
    for _, field in ipairs(k.config) do
        constants[field.name] = field.value
    end
    constants.align = k.align or nil
    local value, why = compile.constants(k.tile.require.text, constants)
    if value == nil then
        diag.in_expr(node, why.at, "%s", why.text)
    elseif type(value) ~= "boolean" then
        diag.at(node, "require expects true or false, such as "
            .. "lanes >= 8, not a number")
    end
    return value == true
end

-- The parts of a key's text that `require` names, and the config.
local function named_parts(k, key)
    local out = {k.config_text, tostring(k.align)}
    for name in k.tile.require.text:gmatch("[%a_][%w_]*") do
        out[#out + 1] = key:match(" (" .. name .. "=%S+)")
    end
    return table.concat(out, " ")
end

function M.serves(k, entry)
    if not k.tile.require then
        return true
    end
    local memo = k.tile.serves or {}
    k.tile.serves = memo
    local id = named_parts(k, entry.key)
    if memo[id] == nil then
        memo[id] = required(k, entry.key)
    end
    return memo[id]
end

local function config_text(config)
    local out = {}
    for i, field in ipairs(config) do
        out[i] = ("%s=%d"):format(field.name, field.value)
    end
    return table.concat(out, " ")
end

-- The family's emitter for k's tier.
local function family(k)
    local name = "family." .. k.op.family
    return require(name .. (k.tier == "cpu" and ".init" or ".cuda"))
end

local function baked_value(attr, number)
    if attr.type == "bool" then
        return number ~= 0
    elseif attr.type == "string" then
        return attr.choices[number + 1]
    end
    return number
end

-- A baked attribute's value as part of a C name: tanh, log1, shift_2 for -2.
local function baked_word(attr, number)
    local value = baked_value(attr, number)
    if type(value) == "string" then
        return (value:lower():gsub("[^a-z0-9]", "_"))
    end
    return (("%s%d"):format(attr.name, number):gsub("-", "_"))
end

-- Several fields of a config are named by their initials: t64_l32, but block64.
local function config_word(config)
    local out = {}
    for i, field in ipairs(config) do
        local name = #config > 1 and field.name:sub(1, 1) or field.name
        out[i] = ("%s%d"):format(name, field.value)
    end
    return table.concat(out, "_")
end

-- op, variant, dtypes, baked attributes, layout, config: in that order.
local function symbol_of(op, entry, keyed, word)
    local parts = {op.name, entry.variant, keyed}
    for i, attr in ipairs(op.attrs) do
        if attr.baked then
            parts[#parts + 1] = baked_word(attr, entry.baked[i])
        end
    end
    parts[#parts + 1] = entry.layout
    if entry.align then
        parts[#parts + 1] = ("a%d"):format(entry.align)
    end
    if word ~= "" then
        parts[#parts + 1] = word
    end
    return table.concat(parts, "_")
end

local function build(model, entry, tier, tiling, variant, config)
    local op = model.op[entry.op]
    local k = {
        op = op, variant = entry.variant, tier = tier, layout = entry.layout,
        align = entry.align, tile = variant,
        config = config, config_text = config_text(config),
        config_word = config_word(config),
        keyed = entry.keyed, dtypes = {}, baked = {},
        group = entry.group, key_class = entry.group, spec = op.spec,
        tiling = tiling.spec, model = model,
    }
    for i, tensor in ipairs(op.tensors) do
        k.dtypes[tensor.name] = entry.dtypes[i]
    end
    for i, attr in ipairs(op.attrs) do
        if attr.baked then
            k.baked[attr.name] = baked_value(attr, entry.baked[i])
        end
    end
    k.symbol = symbol_of(op, entry, k.keyed, k.config_word)
    k.file = ("%s/%s_%s.%s"):format(op.name, k.variant, k.keyed,
        tier == "cpu" and "c" or "cu")
    return k
end

-- What a block of the tier's profile may have of shared memory.
local function shared_bytes(model, tier)
    for _, arch in ipairs(model.arch_list) do
        if arch.tier == tier then
            return arch.field.shared_bytes or 0
        end
    end
end

function M.candidates(model, entry, tier)
    local op = model.op[entry.op]
    local tiling, variant = M.tile(model, op, entry.variant, tier)
    if not tiling then
        diag.at(model.tilings[op.family].node, "no configs for variant %s on "
            .. "tier %s, which op %s needs: tiers: {%s: {%s: {config: ...}}}",
            entry.variant, tier, op.name, tier, entry.variant)
        return {}
    end
    local out, room = {}, shared_bytes(model, tier)
    for _, config in ipairs(products(variant.config)) do
        local k = build(model, entry, tier, tiling, variant, config)
        local fits = family(k).fits
        if #k.symbol > SYMBOL_MAX then
            diag.at(op.node, "op %s: kernel name %s is over %d characters",
                op.name, k.symbol, SYMBOL_MAX)
        end
        out[#out + 1] = (not fits or fits(k, room)) and k or nil
    end
    return out
end

function M.text(k)
    if not k.text then
        k.text = family(k).text(k)
    end
    return k.text
end

function M.prelude(k)
    return family(k).prelude(k)
end

-- The lowest tier at which k's text is the same.
local function home(k)
    local tokens
    for _, tier in ipairs(schema.tiers) do
        if tier == k.tier then
            break
        elseif tier ~= "cpu"
            and M.tile(k.model, k.op, k.variant, tier) then
            local lower = setmetatable({tier = tier}, {__index = k})
            tokens = tokens or host.tokens(M.text(k))
            if host.tokens(family(lower).text(lower)) == tokens then
                return tier
            end
        end
    end
    return k.tier
end

-- Where k's text stands below out/.
function M.path(k)
    if k.tier == "cpu" then
        return "cpu/" .. k.file
    end
    k.home = k.home or home(k)
    return ("cuda/%s/%s"):format(k.home, k.file)
end

-- What a recipe's expressions may name: those of slots, the op's attributes
-- first; those of units and grain, rows, cols, the op's lets and the config.
local function recipe_scopes(k)
    local config, n = {}, #k.op.lets
    for i, field in ipairs(k.config) do
        config[field.name] = i - 1
    end
    local slots = compile.with(k.model.scope[k.op.name], "config", config)
    local units = compile.with(slots, "lets", {rows = n, cols = n + 1})
    units.attrs, units.tensors = {}, {}
    return slots, units
end

-- The launch recipe as the core's struct; see tables.h.
function M.recipe(k)
    local raw = family(k).recipe(k)
    local kinds = enum.read("runtime/core/tables.h", "KILN_SLOT_")
    local scope, of_units = recipe_scopes(k)
    local slots = {}
    for i, slot in ipairs(raw.slots) do
        slots[i] = {
            kind = assert(kinds[slot.kind], slot.kind),
            tensor = slot.tensor or 0,
            expr = slot.expr and compile.text(slot.expr, scope)
                or compile.absent(),
        }
    end
    local out = {slots = slots}
    for _, name in ipairs {"units", "grain", "threads", "shared", "cluster"} do
        out[name] = raw[name] and compile.text(raw[name], of_units)
            or compile.absent()
    end
    return out
end

local function recipe_text(k)
    local raw = family(k).recipe(k)
    local out = {raw.units, raw.grain, raw.threads, raw.shared, raw.cluster}
    for _, slot in ipairs(raw.slots) do
        out[#out + 1] = ("%s %d %s"):format(slot.kind, slot.tensor or 0,
            slot.expr or "")
    end
    return table.concat(out, "\n")
end

local function limits_text(k)
    local out = {}
    for _, limit in ipairs(k.op.limits or {}) do
        out[#out + 1] = ("%s ulp=%s abs=%s l2=%s"):format(limit.dtype,
            tostring(limit.ulp), tostring(limit.abs), tostring(limit.l2))
    end
    return table.concat(out, "\n")
end

-- What a certificate is bound to: the tokens of the kernel, of its argument
-- struct and of every device function it reaches, its launch recipe, its
-- limits.
function M.hash(k)
    if not k.hash then
        local language = k.tier == "cpu" and c or cuda
        local args = language.args(k, family(k).recipe(k).slots)
        local tokens = host.tokens(args .. "\n" .. M.text(k))
        k.hash = host.sha256(table.concat({
            tokens, depend.closure(tokens, k.tier), recipe_text(k),
            limits_text(k),
        }, "\0"))
    end
    return k.hash
end

-- "ulp=4;abs=1e-07;l2=" of the kernel's outputs' dtype.
function M.limits(k)
    local out
    for _, tensor in ipairs(k.op.tensors) do
        for _, limit in ipairs(k.op.limits or {}) do
            if tensor.role ~= "in"
                and limit.dtype == k.dtypes[tensor.name] then
                out = limit
            end
        end
    end
    if not out then
        diag.at(k.op.at.limits or k.op.node, "op %s: no limits for the "
            .. "output of %s", k.op.name, k.group)
        return ""
    end
    local function number(v)
        return v and host.float(v + 0.0) or ""
    end
    return ("ulp=%s;abs=%s;l2=%s"):format(number(out.ulp), number(out.abs),
        number(out.l2))
end

return M
