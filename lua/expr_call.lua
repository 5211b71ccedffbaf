-- expr_call.lua: the calls of planner expressions, as data.
--
-- calls[name] = {op=, takes=, least=, most=, gives=, usage=}
--   op     opcode (ORDER: opcodes of runtime/core/expr.h)
--   takes  a letter an argument: i int, n number, t tensor; the last letter
--          serves all further arguments
--   least, most  how many arguments
--   gives  type of the result; "number": int when all arguments are ints,
--          float when all are floats

local MANY = 63 -- what the machine holds at once, less one

local M = {}

local function call(name, usage, takes, gives, least, most)
    M[name] = {
        op = name:upper(), usage = usage, takes = takes, gives = gives,
        least = least or #takes, most = most or #takes,
    }
end

call("cdiv", "cdiv(a, b)", "ii", "int")
call("next_pow2", "next_pow2(a)", "i", "int")
call("min", "min(a, b, ...)", "n", "number", 1, MANY)
call("max", "max(a, b, ...)", "n", "number", 1, MANY)
call("clamp", "clamp(v, low, high)", "nnn", "number")
call("popcount", "popcount(a)", "i", "int")
call("align", "align(v, multiple)", "ii", "int")
call("size", "size(tensor, dim)", "ti", "int")
call("stride", "stride(tensor, dim)", "ti", "int")
call("numel", "numel(tensor)", "t", "int")
call("rank", "rank(tensor)", "t", "int")
call("dtype", "dtype(tensor)", "t", "int")
call("dtype_size", "dtype_size(tensor)", "t", "int")
call("present", "present(tensor)", "t", "bool")
call("view", "view(tensor, [sizes])", "ti", "tensor", 1, 9)
call("merge", "merge(tensor, first, last)", "tii", "tensor")
call("transpose", "transpose(tensor) or transpose(tensor, d0, d1)", "tii",
     "tensor", 1)
call("slice", "slice(tensor, dim, start, stop)", "tiii", "tensor")
call("expand", "expand(tensor, [sizes])", "ti", "tensor", 1, 9)
call("group", "group(tensor, parts)", "ti", "tensor")

return M
