-- certs.lua: certificates as kept under spec/certified/TIER/: two tables an
-- op, tab-separated, sorted by bytes, one `#` line of column names first.
--
-- certs.load(roots, tier, home) -> records: {kernels={[isa \t symbol]=row},
--   keys={[isa \t key]=row}, files={path}}; rows hold the columns by name,
--   op, path, line and root (a number). A later root's row takes the place of
--   an earlier one's; home(op): the number of the root that an op's spec is
--   of, whose certificates are the first that count. A malformed line is an
--   error with file and line.
-- certs.resources(roots, tier) -> what ptxas said of kernels
-- certs.texts(records) -> {["softmax.keys.tsv"] = text, ...}

local M = {}

M.COLUMNS = {
    kernels = {"isa", "kernel", "hash", "error", "cases", "device",
        "compiler"},
    keys = {"isa", "key", "ranges", "config", "us", "runner_up",
        "runner_up_us", "device", "reach"},
}

local NAME = {kernels = "kernel", keys = "key"}

-- What the runtime's texts show.
local MOST_US = 1e12

-- Of a line with n fields; it matches no other.
local function pattern(n)
    return "^" .. ("([^\t]*)\t"):rep(n - 1) .. "([^\t]*)$"
end

local function count_fields(line)
    return select(2, line:gsub("\t", "")) + 1
end

local function header(kind)
    return "# " .. table.concat(M.COLUMNS[kind], "\t")
end

-- Problem with a row, or nil; its figure becomes a number.
local function row_problem(kind, row)
    local figure = kind == "kernels" and "error" or "us"
    local value = host.number(row[figure])
    local stem = row.op .. (kind == "kernels" and "_" or "/")
    if kind == "kernels" and not row.hash:match("^%x+$") then
        return "hash is not hexadecimal"
    elseif row[NAME[kind]]:sub(1, #stem) ~= stem then
        return ("%s %s is not of op %s"):format(NAME[kind], row[NAME[kind]],
            row.op)
    elseif not value or value ~= value or value < 0 then
        return figure .. " is not a number: " .. row[figure]
    elseif value > (kind == "kernels" and 1 or MOST_US) then
        return ("%s %s is past its limit"):format(figure, row[figure])
    elseif kind == "keys" and row.reach ~= "measured"
        and row.reach ~= "forced" then
        return "reach is neither measured nor forced: " .. row.reach
    end
    row[figure] = value
end

-- A later folder's row takes the place of an earlier one's.
local function add_row(records, kind, row)
    local id = row.isa .. "\t" .. row[NAME[kind]]
    local old = records[kind][id]
    if old and old.root == row.root then
        host.error(row.path, row.line, 1, ("%s %s stands twice"):format(
            NAME[kind], row[NAME[kind]]))
    end
    records[kind][id] = row
end

local function read_row(columns, ...)
    local row = {}
    for i, name in ipairs(columns) do
        row[name] = select(i, ...)
    end
    return row
end

local function load_file(records, root, path, op, kind)
    local text, why = host.read(path)
    if not text then
        host.error(path, 0, 0, why)
        return
    end
    local columns, number = M.COLUMNS[kind], 0
    if text:sub(-1) ~= "\n" then
        host.error(path, 0, 0, "is cut short: its last line does not end")
        return
    end
    local fields = pattern(#columns)
    for line in text:gmatch("([^\n]*)\n") do
        number = number + 1
        if number > 1 then
            local row = read_row(columns, line:match(fields))
            row.op, row.path, row.line, row.root = op, path, number, root
            local problem = not row[columns[1]] and
                ("%d fields, expected %d"):format(count_fields(line),
                    #columns) or row_problem(kind, row)
            if problem then
                host.error(path, number, 1, problem)
            else
                add_row(records, kind, row)
            end
        elseif line ~= header(kind) then
            host.error(path, 1, 1, "expected the columns: " .. header(kind))
            return
        end
    end
end

function M.load(roots, tier, home)
    local records = {kernels = {}, keys = {}, files = {}}
    for i, root in ipairs(roots) do
        local folder = root .. "/certified/" .. tier
        for _, name in ipairs(host.is_dir(folder) and host.list(folder)
            or {}) do
            local op, kind = name:match("^([%w_]+)%.(%a+)%.tsv$")
            if op and M.COLUMNS[kind] and home(op) <= i then
                table.insert(records.files, folder .. "/" .. name)
                load_file(records, i, folder .. "/" .. name, op, kind)
            end
        end
    end
    return records
end

local function number_text(v)
    return type(v) == "number" and ("%.4g"):format(v) or v
end

-- {[kernel] = {registers=, shared_bytes=, spill_bytes=, code_bytes=, text=}} as
-- the latest root has it; what `make resources` writes.
function M.resources(roots, tier)
    local out = {}
    for _, root in ipairs(roots) do
        local path = ("%s/certified/%s/resources.tsv"):format(root, tier)
        for line in (host.read(path) or ""):gmatch("[^\n]+") do
            local name, registers, spills =
                line:match("^([%w_]+)\t(%d+)\t%d+\t(%d+)\t%d+$")
            if name then
                out[name] = {text = line, registers = tonumber(registers),
                             spills = tonumber(spills)}
            elseif line:sub(1, 1) ~= "#" then
                host.error(path, 0, 0, "not a line of make resources: " .. line)
            end
        end
    end
    return out
end

function M.texts(records)
    local lines = {}
    for kind, columns in pairs(M.COLUMNS) do
        for _, row in pairs(records[kind]) do
            local path = ("%s.%s.tsv"):format(row.op, kind)
            local fields = {}
            for i, name in ipairs(columns) do
                fields[i] = number_text(row[name])
            end
            lines[path] = lines[path] or {kind = kind}
            table.insert(lines[path], table.concat(fields, "\t"))
        end
    end
    local out = {}
    for path, list in pairs(lines) do
        table.sort(list)
        out[path] = header(list.kind) .. "\n" .. table.concat(list, "\n")
            .. "\n"
    end
    return out
end

return M
