-- out/lists.lua: the tables for people: KEYS, COVERAGE, RESOURCES, STALE and
-- MANIFEST. Tab-separated, one `#` line of column names, sorted by bytes.
--
-- run(files, model, state, isas) adds {path -> text};
-- manifest(files) -> text of MANIFEST for all files.

local cells = require "out.cells"

local M = {}

local function tsv(columns, rows)
    table.sort(rows)
    return "# " .. table.concat(columns, "\t") .. "\n"
        .. (#rows > 0 and table.concat(rows, "\n") .. "\n" or "")
end

local function figure(v)
    return ("%.4g"):format(v)
end

local function keys_text(state, isas)
    local rows = {}
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(isas) do
            local served = entry.served[isa]
            if served then
                rows[#rows + 1] = table.concat({
                    entry.op, entry.key, state.tier, isa,
                    served.kernel.config_text, served.kernel.symbol,
                    "measured", figure(served.evidence.error),
                    figure(served.row.us), "-",
                }, "\t")
            end
        end
    end
    return tsv({"op", "key", "tier", "isa", "config", "kernel", "reach",
        "error", "us", "peer_us"}, rows)
end

local function stale_text(state, isas)
    local rows = {}
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(isas) do
            local cause = entry.stale[isa]
            if cause then
                rows[#rows + 1] = table.concat({entry.op, entry.key,
                    state.tier .. " " .. isa, cause}, "\t")
            end
        end
    end
    for _, orphan in ipairs(state.orphans) do
        rows[#rows + 1] = table.concat({orphan.op, orphan.key,
            state.tier .. " " .. orphan.isa, orphan.cause}, "\t")
    end
    return tsv({"op", "key", "tier", "cause"}, rows)
end

-- Of one op: its keys in every ISA, their dtypes, how many are certified and
-- how many stale.
local function coverage_row(op, tier, keys, isas)
    local certified, stale, dtypes, seen = 0, 0, {}, {}
    for _, entry in ipairs(keys) do
        if not seen[entry.keyed] then
            seen[entry.keyed] = true
            dtypes[#dtypes + 1] = entry.keyed
        end
        for _, isa in ipairs(isas) do
            certified = certified + (entry.served[isa] and 1 or 0)
            stale = stale + (entry.stale[isa] and 1 or 0)
        end
    end
    table.sort(dtypes)
    return table.concat({op, tier,
        #dtypes > 0 and table.concat(dtypes, ",") or "-", #keys * #isas,
        certified, 0, stale}, "\t")
end

local function coverage_text(model, state, isas)
    local rows, keys = {}, cells.by_op(state.keys)
    for i, op in ipairs(model.ops) do
        rows[i] = coverage_row(op.name, state.tier, keys[op.name] or {}, isas)
    end
    return tsv({"op", "tier", "dtypes", "declared", "certified", "forced",
        "stale"}, rows)
end

function M.run(files, model, state, isas)
    files["KEYS.tsv"] = keys_text(state, isas)
    files["COVERAGE.tsv"] = coverage_text(model, state, isas)
    files["STALE.tsv"] = stale_text(state, isas)
    files["RESOURCES.tsv"] = tsv({"tier", "kernel", "registers",
        "shared_bytes", "spill_bytes", "code_bytes"}, {})
end

function M.manifest(files)
    local rows = {}
    for path, text in pairs(files) do
        rows[#rows + 1] = ("%s\t%d\t%s"):format(host.sha256(text), #text,
            path)
    end
    table.sort(rows, function(a, b)
        return a:match("[^\t]*$") < b:match("[^\t]*$")
    end)
    return "# sha256\tbytes\tpath\n" .. table.concat(rows, "\n") .. "\n"
end

return M
