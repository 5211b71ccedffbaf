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

-- What softmax and log-softmax do differently.
local function forms(k, ctype, suffix)
    local cast = ctype == "double" and "" or "(" .. ctype .. ")"
    if k.baked.log then
        return {
            total = string.format("const %s log_sum = %skiln_log_f64(sum);",
                                  ctype, cast),
            kept = "below",
            final = function(col) return "tile[" .. col .. "] - log_sum" end,
            again = "(x - max) - log_sum",
        }
    end
    return {
        total = string.format("const %s scale = %s;", ctype,
                              cast == "" and "1 / sum" or cast .. "(1 / sum)"),
        kept = "power",
        final = function(col) return "tile[" .. col .. "] * scale" end,
        again = string.format("kiln_exp_below_%s(x - max) * scale", suffix),
    }
end

local function facts(k, ctype)
    local width = c.width(k.dtypes.x) + c.width(k.dtypes.y)
    local looped = k.variant == "looped"
    return {
        {"bytes", string.format("%d an element: %d read%s, %d written", width,
                                c.width(k.dtypes.x),
                                looped and " three times" or "",
                                c.width(k.dtypes.y))},
        {"operations", "5 an element"},
        {"accumulation", "LANES compensated sums in " .. ctype
            .. ", folded in double"},
        {"template", "lua/family/softmax/" .. k.variant .. ".c.tmpl"},
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
    return {{name = "tile", value = size}}
end

function M.text(k)
    local ctype, suffix = c.compute(k)
    local name = "family/softmax/" .. k.variant .. ".c.tmpl"
    local env = forms(k, ctype, suffix)
    env.header = c.header(k, M.recipe(k), facts(k, ctype))
    env.symbol, env.args = k.symbol, c.args_name(k)
    env.constants = c.constants(k, k.variant == "single_tile" and tile(k))
    env.steps = steps(k)
    env.ctype, env.suffix = ctype, suffix
    env.contiguous = k.layout == "contiguous"
    env.xtype, env.ytype = c.storage(k.dtypes.x), c.storage(k.dtypes.y)
    env.x_start, env.y_start = row_start(k, "x"), row_start(k, "y")
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
