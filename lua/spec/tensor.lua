-- spec/tensor.lua: an op's tensors: roles, dtype rules and shape rules.
-- Reads the map of `tensors:`; returns the records that spec.lua describes.

local diag = require "diag"
local names = require "spec.names"
local schema = require "schema"

local M = {}

local IS_DTYPE = {}
for _, name in ipairs(schema.dtypes) do IS_DTYPE[name] = true end

local function tensor_names(earlier)
    local list = {}
    for i, t in ipairs(earlier) do list[i] = t.name end
    return list
end

-- The earlier tensor called name, or nil after reporting. later: {name=true}
-- of all tensors.
local function find_earlier(name, node, earlier, later, allowed)
    for _, t in ipairs(earlier) do
        if t.name == name then return t end
    end
    if later[name] then
        diag.at(node, "%s is declared here or later; only an earlier "
                .. "tensor can be named", name)
    else
        diag.unknown(node, allowed and "dtype or tensor" or "tensor", name,
                     allowed or tensor_names(earlier))
    end
    return nil
end

-- "promote(a, b)": the names, or nil when text is none.
local function promoted(text)
    local inner = text:match("^promote%s*%((.*)%)$")
    if not inner then return nil end
    local list = {}
    for name in (inner .. ","):gmatch("%s*([^,]-)%s*,") do
        list[#list + 1] = name
    end
    return list
end

local function read_promote(t, list, node, earlier, all)
    if #list < 2 then
        diag.at(node, "promote expects at least two tensors: "
                .. '"promote(a, b)"')
    end
    t.promote = {}
    for _, name in ipairs(list) do
        if find_earlier(name, node, earlier, all) then
            t.promote[#t.promote + 1] = name
        end
    end
end

local function all_dtypes(earlier)
    local list = tensor_names(earlier)
    table.move(schema.dtypes, 1, #schema.dtypes, #list + 1, list)
    return list
end

-- The rule `dtype:` into t.dtypes and t.like, or t.promote.
local function read_dtypes(t, rule, earlier, all)
    local list = #rule == 1 and promoted(rule[1])
    if list then return read_promote(t, list, rule.at[1], earlier, all) end
    local seen = {}
    for i, name in ipairs(rule) do
        local node = rule.at[i]
        if promoted(name) then
            diag.at(node, 'promote stands alone: dtype: "%s"', name)
        elseif seen[name] then
            diag.at(node, "%s stands twice in the list", name)
        elseif IS_DTYPE[name] then
            t.dtypes[#t.dtypes + 1] = name
        elseif find_earlier(name, node, earlier, all, all_dtypes(earlier)) then
            t.like[#t.like + 1] = name
        end
        seen[name] = true
    end
end

-- A shape that is another tensor's.
local function shape_of(t, name, node, earlier, all)
    if t.role ~= "out" then
        diag.at(node, "the shape of a tensor that the caller gives is free "
                .. "or a list of sizes, not that of %s", diag.show(name))
        return nil
    end
    local other = find_earlier(name, node, earlier, all)
    if other and other.optional then
        diag.at(node, "%s is optional and may have no shape", name)
    end
    return other and {tensor = name}
end

local function shape_list(list)
    names.check_rank(list)
    return {exprs = list}
end

local function read_shape(t, value, family, earlier, all)
    if type(value.shape) == "table" then return shape_list(value.shape) end
    if value.shape then
        return shape_of(t, value.shape, value.at.shape, earlier, all)
    end
    if t.role ~= "out" then return nil end
    if family == "elementwise" then return "broadcast" end
    if not value.at.shape then
        diag.at(t.node, "output %s lacks a shape: like: x, shape: x or "
                .. "shape: [M, N]", t.name)
    end
    return nil
end

-- like: x is dtype: [x] and shape: x in one.
local function read_like(t, value, earlier, all)
    for _, field in ipairs {"shape", "dtype"} do
        if value.at[field] then
            diag.at(value.at[field], "%s cannot stand beside like, which "
                    .. "gives both shape and dtype", field)
        end
    end
    t.shape = shape_of(t, value.like, value.at.like, earlier, all)
    if t.shape then t.like = {value.like} end
end

local function read_tensor(entry, family, earlier, all)
    local value = entry.value
    local t = {
        name = entry.name, node = entry.node, role = value.role,
        optional = value.optional or false, dtypes = {}, like = {},
    }
    if value.at.like then
        if value.like then read_like(t, value, earlier, all) end
    else
        if value.dtype then
            read_dtypes(t, value.dtype, earlier, all)
        elseif not value.at.dtype then
            diag.at(t.node, "tensor %s lacks dtype: [f16, f32] or like: x",
                    t.name)
        end
        t.shape = read_shape(t, value, family, earlier, all)
    end
    return t
end

-- x_row_stride is x's stride along a row in a kernel's arguments.
local function check_row_names(tensors)
    local known = {}
    for _, t in ipairs(tensors) do known[t.name] = true end
    for _, t in ipairs(tensors) do
        local other = t.name:match("^(.*)_row$")
        if known[other] then
            diag.at(t.node, "%s would be read as a row of %s; name it "
                    .. "otherwise", t.name, other)
        end
    end
end

-- Keys tell apart the dtypes of tensors that have a choice. Where none has, the
-- first stands in the key all the same: a dtype added later renames no key.
local function set_keyed(tensors)
    local any = false
    for _, t in ipairs(tensors) do
        t.keyed = not t.promote and #t.dtypes + #t.like > 1
        any = any or t.keyed
    end
    if not any and tensors[1] then tensors[1].keyed = true end
end

-- map: the value of `tensors:`; scope gets the names.
function M.read(map, family, scope)
    local all, tensors = {}, {}
    for _, entry in ipairs(map) do all[entry.name] = true end
    local outputs = 0
    for _, entry in ipairs(map) do
        if names.take_argument(scope, entry.name, "a tensor", entry.node) then
            local t = read_tensor(entry, family, tensors, all)
            tensors[#tensors + 1] = t
            if t.role ~= "in" then outputs = outputs + 1 end
        end
    end
    check_row_names(tensors)
    set_keyed(tensors)
    names.check_count(map, schema.most.tensors, "tensors")
    if outputs == 0 then
        diag.at(map.node, "no tensor has role: out or role: inout")
    end
    return tensors
end

-- The dtypes that t may have, as {name=true}; tensors: all of the op.
function M.possible(t, tensors)
    local set = {}
    for _, name in ipairs(t.promote and schema.dtypes or t.dtypes) do
        set[name] = true
    end
    for _, other in ipairs(tensors) do
        for _, name in ipairs(t.like) do
            if name == other.name then
                for dtype in pairs(M.possible(other, tensors)) do
                    set[dtype] = true
                end
            end
        end
    end
    return set
end

return M
