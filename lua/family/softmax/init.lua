-- family/softmax/init.lua: softmax and log-softmax of rows. Reads the spec of
-- op softmax; gives what lua/kernels.lua asks of a family.

local c = require "family.c"
local template = require "template"

local M = {
    space = "rows",
    row_dim = "dim",
    in_place = true,
    variants = {"single_tile", "looped"},
    layouts = {"contiguous", "inner", "general"},
}

function M.recipe(k)
    return {slots = c.slots(k), units = "rows",
            grain = "max(1, 16384 // cols)"}
end

-- The text that differs by layout: where a row of tensor `name` starts, and
-- its element at `col`.
local function row_start(k, name)
    if k.layout == "contiguous" then return " + row * size" end
    return string.format(
        " +\n    kiln_row_offset(index, arg->rank, arg->%s_stride)", name)
end

local function element(k, name, col)
    if k.layout == "general" then
        col = string.format(col:find(" ") and "(%s) * %s_step"
                            or "%s * %s_step", col, name)
    end
    return string.format("%s_row[%s]", name, col)
end

local function steps(k)
    if k.layout ~= "general" then return "" end
    return "const int64_t x_step = arg->x_row_stride;\n"
        .. "const int64_t y_step = arg->y_row_stride;"
end

-- Whether y can hold what is computed on the way, so that it takes no tile and
-- is not computed twice: elements side by side, of the type computed in.
local function keeps(k)
    local _, suffix = c.compute(k)
    return k.layout ~= "general" and k.dtypes.y == suffix
end

-- What softmax and log-softmax do differently.
local function forms(k, ctype, suffix)
    local cast = ctype == "double" and "" or "(" .. ctype .. ")"
    if k.baked.log then
        return {
            total = string.format("const %s log_sum = %skiln_log_f64(sum);",
                                  ctype, cast),
            kept = "below",
            change = string.format("const %s log_sum = %s(kiln_log_f64(sum) "
                .. "+ ((double)max - tops[part]));", ctype, cast),
            change_op = "-", changed = "log_sum",
            final = function(col) return "tile[" .. col .. "] - log_sum" end,
            again = "(x - max) - log_sum",
        }
    end
    return {
        total = string.format("const %s scale = %s;", ctype,
                              cast == "" and "1 / sum" or cast .. "(1 / sum)"),
        kept = "power[lane]",
        change = string.format("const %s scale = %s(kiln_exp_below_%s("
            .. "tops[part] - max) / sum);", ctype, cast, suffix),
        change_op = "*", changed = "scale",
        final = function(col) return "tile[" .. col .. "] * scale" end,
        again = string.format("kiln_exp_below_%s(x - max) * scale", suffix),
    }
end

local function template_of(k)
    return string.format("family/softmax/%s.c.tmpl",
                         keeps(k) and "kept" or k.variant)
end

local function facts(k, ctype)
    local width = c.width(k.dtypes.x) + c.width(k.dtypes.y)
    local again = k.variant == "looped" and not keeps(k)
    return {
        {"bytes", string.format("%d an element: %d read%s, %d written%s", width,
                                c.width(k.dtypes.x),
                                again and " three times" or "",
                                c.width(k.dtypes.y),
                                keeps(k) and " twice" or "")},
        {"operations", "5 an element"},
        {"accumulation", "QUARTER compensated sums of fours in " .. ctype
            .. ", folded in double"},
        {"template", "lua/" .. template_of(k)},
    }
end

-- The tile of single_tile holds the longest row that its route lets in.
local function tile(k)
    local size = 0
    for _, arch in pairs(k.model.archs) do
        if arch.tier == k.tier then
            size = math.max(size, arch.field.row_tile or 0)
        end
    end
    return size
end

-- Constants after the config: sums that run side by side; what a template cuts
-- rows into. A part of x and one of y fit a first-level cache of 32 KiB.
local PART_BYTES, PARTS = 8192, 128

local function constants(k)
    local list = {{name = "quarter", value = "LANES / 4"}}
    if keeps(k) then
        list[2] = {name = "part", value = PART_BYTES // c.width(k.dtypes.y)}
        list[3] = {name = "parts", value = PARTS}
    elseif k.variant == "single_tile" then
        list[2] = {name = "tile", value = tile(k)}
    end
    return c.constants(k, list)
end

function M.text(k)
    local ctype, suffix = c.compute(k)
    local name = template_of(k)
    local env = forms(k, ctype, suffix)
    env.header = c.header(k, M.recipe(k), facts(k, ctype))
    env.symbol, env.args = k.symbol, c.args_name(k)
    env.constants = constants(k)
    env.steps = steps(k)
    env.ctype, env.suffix = ctype, suffix
    env.largest = ctype == "double" and "DBL_MAX" or "FLT_MAX"
    env.contiguous = k.layout == "contiguous"
    env.xtype, env.ytype = c.storage(k.dtypes.x), c.storage(k.dtypes.y)
    env.x_start, env.y_start = row_start(k, "x"), row_start(k, "y")
    env.x_group = k.layout ~= "general" and k.dtypes.x == suffix
        and "x_row + col" or "power"
    function env.load(col)
        return c.load(k, k.dtypes.x, element(k, "x", col))
    end
    function env.y_at(col) return element(k, "y", col) end
    function env.store(text) return c.store(k, k.dtypes.y, text) end
    return template.render(name, host.embedded(name), env)
end

function M.prelude(file)
    return c.prelude(file, M.layouts, c.slots)
end

return M
