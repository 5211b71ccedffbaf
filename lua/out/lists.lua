-- out/lists.lua: the tables for people: KEYS, COVERAGE, RESOURCES, STALE and
-- MANIFEST. Tab-separated, one `#` line of column names, sorted by bytes.
--
-- run(files, model, states) adds {path -> text}; states: see resolve.lua;
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

local function add_keys(rows, state)
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(state.isas) do
            local served = entry.served[isa]
            if served then
                rows[#rows + 1] = table.concat({
                    entry.op, entry.key, state.tier, isa,
                    served.kernel.config_word, served.row.reach,
                    figure(served.evidence.error),
                    figure(served.row.us), "-",
                }, "\t")
            end
        end
    end
end

-- A tier's name, with the ISA on the cpu.
local function form(state, isa)
    return isa == "-" and state.tier or state.tier .. " " .. isa
end

local function add_stale(rows, state)
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(state.isas) do
            local cause = entry.stale[isa]
            if cause then
                rows[#rows + 1] = table.concat({entry.op, entry.key,
                    form(state, isa), cause}, "\t")
            end
        end
    end
    for _, orphan in ipairs(state.orphans) do
        rows[#rows + 1] = table.concat({orphan.op, orphan.key,
            form(state, orphan.isa), orphan.cause}, "\t")
    end
end

-- Of one op: its keys in every ISA, their dtypes, how many are certified, by
-- forced evidence too, and how many stale.
local function coverage_row(op, state, keys)
    local certified, forced, stale, dtypes, seen = 0, 0, 0, {}, {}
    for _, entry in ipairs(keys) do
        if not seen[entry.keyed] then
            seen[entry.keyed] = true
            dtypes[#dtypes + 1] = entry.keyed
        end
        for _, isa in ipairs(state.isas) do
            local served = entry.served[isa]
            certified = certified + (served and 1 or 0)
            forced = forced
                + (served and served.row.reach == "forced" and 1 or 0)
            stale = stale + (entry.stale[isa] and 1 or 0)
        end
    end
    table.sort(dtypes)
    return table.concat({op, state.tier,
        #dtypes > 0 and table.concat(dtypes, ",") or "-",
        #keys * #state.isas, certified, forced, stale}, "\t")
end

local function add_coverage(rows, model, state)
    local keys = cells.by_op(state.keys)
    for _, op in ipairs(model.ops) do
        rows[#rows + 1] = coverage_row(op.name, state, keys[op.name] or {})
    end
end

local function add_resources(rows, state)
    for _, k in ipairs(state.kernels) do
        local known = state.resources[k.symbol]
        rows[#rows + 1] = known and state.tier .. "\t" .. known.text or nil
    end
end

function M.run(files, model, states)
    local keys, stale, coverage, resources = {}, {}, {}, {}
    for _, state in ipairs(states) do
        add_keys(keys, state)
        add_stale(stale, state)
        add_coverage(coverage, model, state)
        add_resources(resources, state)
    end
    files["KEYS.tsv"] = tsv({"op", "key", "tier", "isa", "config",
        "reach", "error", "us", "peer_us"}, keys)
    files["COVERAGE.tsv"] = tsv({"op", "tier", "dtypes", "declared",
        "certified", "forced", "stale"}, coverage)
    files["STALE.tsv"] = tsv({"op", "key", "tier", "cause"}, stale)
    files["RESOURCES.tsv"] = tsv({"tier", "kernel", "registers",
        "shared_bytes", "spill_bytes", "code_bytes"}, resources)
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
