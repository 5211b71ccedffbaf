-- family/softmax/cuda.lua: the CUDA kernels of softmax and log-softmax. Gives
-- text, recipe and prelude as family/softmax/init.lua does.
--   single_tile  a row in the registers of LANES threads, several rows a block
--   block_tile   a row in the registers of a block
--   cluster      a row in a cluster of blocks (sm90): in shared memory, where
--                vectors of x are aligned to their 16 bytes, else in registers
--   looped       a row of any size a block, read twice

local cuda = require "family.cuda"
local template = require "template"

local M = {
    variants = {"single_tile", "block_tile", "cluster", "looped"},
    layouts = {"contiguous", "inner", "general"},
}

local DIR = "family/softmax/"
local ROWS = "numel(x) // size(x, dim)"
local WARP = 32
local BARRIER = 8 -- bytes of a barrier in shared memory
local BULK = 16 -- what bulk copies come in multiples of
local PART = 1024 -- where a block's part of the row begins in shared memory

local UNITS = {single_tile = "cdiv(rows, threads // lanes)",
               block_tile = "rows", cluster = "rows * cluster",
               looped = "rows"}

-- Whether sums are compensated and folded in double: all but those whose
-- results are 16 bits of a probability. A logarithm near 0 shows what the sum
-- of its row lost.
local function is_exact(k)
    return k.baked.log or not cuda.is_short(k)
end

-- The type that sums of lanes are added in, and its suffix.
local function sum_type(k)
    if is_exact(k) then return "double", "f64" end
    return "float", "f32"
end

-- Whether a block keeps its part of the row in shared memory.
local function is_shared(k)
    return k.variant == "cluster"
        and cuda.vector_width(k) * cuda.width(k.dtypes.x) == BULK
end

-- Bytes of a slot of shared memory: a sum and a maximum.
local function slot_bytes(k)
    return (sum_type(k) == "double" and 8 or 4)
        + (cuda.compute(k) == "double" and 8 or 4)
end

-- Shared memory of a block: a slot a warp, and in a cluster a slot a block and
-- a barrier. The expression of the recipe, and its value.
local function shared(k)
    if k.variant == "single_tile" then return "0", 0 end
    local slot, warps = slot_bytes(k), cuda.config(k, "threads") // WARP
    if is_shared(k) then
        return ("%d + cdiv(cols // %d, cluster) * %d"):format(PART,
            cuda.vector_width(k), BULK), PART
    elseif k.variant ~= "cluster" then
        return ("threads // %d * %d"):format(WARP, slot), warps * slot
    end
    return ("(threads // %d + cluster) * %d + %d"):format(WARP, slot, BARRIER),
        (warps + cuda.config(k, "cluster")) * slot + BARRIER
end

local function slots(k)
    return cuda.slots(k, k.variant == "single_tile" and ROWS or nil)
end

function M.recipe(k)
    return {
        slots = slots(k), units = UNITS[k.variant], grain = "1",
        threads = "threads", shared = (shared(k)),
        cluster = k.variant == "cluster" and "cluster" or "1",
    }
end

local function constants(k)
    local lanes = k.variant == "single_tile" and {"rows", "THREADS / LANES"}
        or {"lanes", ("%d"):format(WARP)}
    local more = {
        {"width", ("%d"):format(cuda.vector_width(k))},
        {"vectors", "ELEMENTS / WIDTH"}, lanes,
    }
    if k.variant ~= "single_tile" then
        more[#more + 1] = {"warps", "THREADS / LANES"}
        more[#more + 1] = {is_shared(k) and "part" or "shared",
                           ("%d"):format(select(2, shared(k)))}
    end
    if k.variant == "looped" then
        more[#more + 1] = {"tile", "THREADS * VECTORS"}
        more[#more + 1] = {"rise", "8"}
    end
    return cuda.constants(k, more)
end

-- Where the rows of x and y start, by layout.
local function start(k)
    local x, y = cuda.storage(k.dtypes.x), cuda.storage(k.dtypes.y)
    local text = string.format("const %s *const x_row = arg.x_data + %%s;\n"
                               .. "%s *const y_row = arg.y_data + %%s;", x, y)
    if k.layout == "contiguous" then
        return text:format("row * arg.row_size", "row * arg.row_size")
    end
    return [[
int64_t rest = row;
int64_t x_start = 0;
int64_t y_start = 0;
#pragma unroll 1
for (int64_t dim = arg.rank - 1; dim > 0; dim--) {
    const int64_t outer = kiln_quotient(rest, arg.size[dim]);
    const int64_t place = rest - outer * arg.size[dim];
    x_start += place * arg.x_stride[dim];
    y_start += place * arg.y_stride[dim];
    rest = outer;
}
x_start += rest * arg.x_stride[0];
y_start += rest * arg.y_stride[0];
]] .. text:format("x_start", "y_start")
end

-- Where along its row, in elements, the element at `col` of x or y is.
local function place(k, name, col)
    if k.layout ~= "general" then return col end
    if col:find(" ") then col = "(" .. col .. ")" end
    return string.format("%s * arg.%s_row_stride", col, name)
end

-- A pointer to the vector that a thread starts with.
local function lane_of(k, name, vector)
    if vector:find(" ") then vector = "(" .. vector .. ")" end
    return string.format("%s%s *const %s_lane = %s_row + %s;",
        name == "x" and "const " or "", cuda.storage(k.dtypes[name]), name,
        name, place(k, name, vector .. " * WIDTH"))
end

-- A vector of elements that are -infinity.
local EMPTY = {f16 = 0xfc00fc00, bf16 = 0xff80ff80, f32 = 0xff800000,
               f64 = 0xfff00000}
local function empty(k)
    local word = EMPTY[k.dtypes.x]
    local bytes = cuda.vector_width(k) * cuda.width(k.dtypes.x)
    if bytes == 2 then
        return ("0x%x"):format(word & 0xffff)
    elseif bytes == 4 then
        return ("0x%x"):format(word)
    end
    local words = {}
    for i = 1, bytes // 4 do
        local low = k.dtypes.x == "f64" and i % 2 == 1
        words[i] = ("0x%x"):format(low and 0 or word)
    end
    return "{{" .. table.concat(words, ", ") .. "}}"
end

-- What softmax and log-softmax do differently, from the row's total on.
local function ending(k, env)
    local ctype, suffix = env.ctype, env.suffix
    if k.baked.log then
        local log = suffix == "f64" and "kiln_log_f64"
            or env.exact and "kiln_log_sum_f32" or "kiln_log_f32"
        env.scale = string.format("const %s log_sum = %s(total);", ctype, log)
        function env.final(x) return x .. " - max - log_sum" end
        return
    end
    local value = "1 / total"
    if not env.exact then
        value = "kiln_inverse_near_f32(total)"
    elseif suffix == "f32" then
        value = "1 / (float)total"
    end
    env.scale = string.format("const %s scale = %s;", ctype, value)
    function env.final(x, kept)
        return kept and x .. " * scale" or env.exp(x .. " - max") .. " * scale"
    end
end

local function sums(k, env)
    local suffix = env.suffix
    local fold = string.format("kiln_fold_sum_%s(power, WIDTH)", suffix)
    env.sum_type, env.sum_suffix = sum_type(k)
    if not env.exact then
        env.add, env.lane_sum = "sum += " .. fold .. ";", "sum"
    else
        env.add = string.format("kiln_add_%s(&sum, &lost, %s);", suffix, fold)
        env.lane_sum = suffix == "f64" and "(sum - lost)"
            or "((double)sum - (double)lost)"
    end
    function env.total(lanes)
        return string.format("const %s total = kiln_warp_sum_%s(%s, %s);",
            env.sum_type, env.sum_suffix,
            (env.lane_sum:gsub("^%((.*)%)$", "%1")), lanes)
    end
end

local function facts(k, env, path)
    local x, y = cuda.width(k.dtypes.x), cuda.width(k.dtypes.y)
    local twice = k.variant == "looped" and " twice" or ""
    return {
        {"bytes", string.format("%d an element: %d read%s, %d written", x + y,
                                x, twice, y)},
        {"operations", "5 an element"},
        {"accumulation", env.exact
            and "compensated a thread, then pairs of lanes in double"
            or "float a thread, then pairs of lanes"},
        {"template", "lua/" .. path},
    }
end

local function environment(k, path)
    local env = {width = cuda.vector_width(k), exact = is_exact(k)}
    env.ctype, env.suffix = cuda.compute(k)
    env.kept = env.suffix == "f64" and not k.baked.log
    env.vector = cuda.vector(k, k.dtypes.x)
    env.out = cuda.vector(k, k.dtypes.y)
    -- A packed vector needs fewer registers than its elements.
    local packed = k.dtypes.x ~= env.suffix and env.width > 1
    env.refresh = packed and "kiln_refresh(&x_vector[i], zero);" or ""
    function env.exp(x)
        return string.format("kiln_exp_below_%s(%s)",
                             cuda.is_short(k) and "fast" or env.suffix, x)
    end
    sums(k, env)
    ending(k, env)
    env.header = cuda.header(k, M.recipe(k), facts(k, env, path))
    env.symbol, env.args = k.symbol, cuda.args_name(k)
    env.constants, env.bounds = constants(k), cuda.bounds(k)
    env.start, env.empty = start(k), empty(k)
    env.least = "-(" .. env.ctype .. ")INFINITY"
    env.lowest = env.suffix == "f64" and "-DBL_MAX" or "-FLT_MAX"
    function env.x_at(col) return "x_lane + " .. place(k, "x", col) end
    function env.y_at(col) return "y_lane + " .. place(k, "y", col) end
    function env.lane_of(name, vector)
        return lane_of(k, name, vector)
    end
    function env.element(name, col)
        return string.format("%s_row[%s]", name, place(k, name, col))
    end
    function env.load(col)
        return cuda.load(k, k.dtypes.x, env.element("x", col))
    end
    function env.store(text) return cuda.store(k, k.dtypes.y, text) end
    return env
end

-- Whether a block's part of the longest row fits into shared memory.
function M.fits(k, shared_bytes)
    local elements = cuda.config(k, "threads") * cuda.config(k, "elements")
    return not is_shared(k)
        or PART + elements * cuda.width(k.dtypes.x) <= shared_bytes
end

function M.text(k)
    local name = is_shared(k) and "cluster_shared" or k.variant
    local path = DIR .. name .. ".cu.tmpl"
    local env = environment(k, path)
    local cluster = k.variant == "cluster"
    env.last_end = cluster and "end" or "size"
    for _, piece in ipairs {"reduce", "write"} do
        local file = DIR .. "tile_" .. piece .. ".cu.tmpl"
        local text = template.render(file, host.embedded(file), env)
        env[piece] = text:sub(1, -2)
    end
    return template.render(path, host.embedded(path), env)
end

function M.prelude(file)
    return cuda.prelude(file, M.layouts, slots)
end

return M
