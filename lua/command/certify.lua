-- command/certify.lua: kiln certify FILE...: evidence becomes certificates.
-- A kernel that passed over its domain is certified by the hash it had; a key
-- takes the fastest config whose kernel passed, unless the standing one, or
-- where none stands its group's favourite, is within noise of it.
-- Certificates of what the evidence does not name stay.

local certs = require "certs"
local evidence = require "evidence"
local kernels = require "kernels"
local project = require "project"

-- Two medians closer than this, or than their own spread, are one.
local NOISE = 0.03
local NOISE_MOST = 0.2

local function knowledge(p)
    local by_symbol, groups, isas = {}, {}, {}
    for _, isa in ipairs(p.isas) do
        isas[isa] = true
    end
    for _, entry in pairs(p.keys) do
        if not groups[entry.group] then
            groups[entry.group] = {}
            for _, k in ipairs(kernels.candidates(p.model, entry,
                p.tier)) do
                by_symbol[k.symbol] = k
                groups[entry.group][k.config_text] = k
            end
        end
    end
    return {
        kernel = function(symbol) return by_symbol[symbol] end,
        hash = kernels.hash,
        entry = function(key) return p.keys[key] end,
        config = function(entry, text)
            local k = groups[entry.group][text]
            return k and kernels.serves(k, entry) and k or nil
        end,
        tier = p.tier, isa = function(name) return isas[name] end,
        left_out = function(op) return p.model.op[op] and not p.keep(op) end,
    }
end

local function add_kernels(records, seen)
    local failed = 0
    for id, line in pairs(seen.kernels) do
        if line.status == "pass" then
            records.kernels[id] = {
                op = line.op, isa = line.isa, kernel = line.kernel,
                hash = line.hash, error = line.error + 0.0,
                cases = tostring(line.cases), device = line.device,
                compiler = line.compiler,
            }
        else
            records.kernels[id] = nil
            failed = failed + 1
        end
    end
    return failed
end

-- Lines of configs whose kernels stand certified, fastest first.
local function survivors(standing, known, lines)
    local out = {}
    for _, line in pairs(lines) do
        local k = known.config(known.entry(line.key), line.config)
        local row = standing(line.isa .. "\t" .. k.symbol)
        if line.status == "pass" and row and row.hash == known.hash(k) then
            out[#out + 1] = line
        end
    end
    table.sort(out, function(a, b)
        return a.us < b.us or a.us == b.us and a.config < b.config
    end)
    return out
end

-- Each group's config that is fastest on the whole, by the mean logarithm of
-- its times over the group's keys: {[isa \t group] = config text}.
local function favourites(known, lists)
    local sums, out = {}, {}
    for id, list in pairs(lists) do
        local isa, key = id:match("^(.-)\t(.*)$")
        local group = isa .. "\t" .. known.entry(key).group
        sums[group] = sums[group] or {}
        for _, line in ipairs(list) do
            local sum = sums[group][line.config] or {0.0, 0}
            sums[group][line.config] = {sum[1] + math.log(line.us),
                sum[2] + 1}
        end
    end
    for group, configs in pairs(sums) do
        local best
        for config, sum in pairs(configs) do
            local mean = sum[1] / sum[2]
            if not best or mean < best then
                best, out[group] = mean, config
            end
        end
    end
    return out
end

-- The fastest of list, unless `preferred` is within noise of it.
local function choose(list, preferred)
    local best = list[1]
    for _, line in ipairs(list) do
        local noise = math.max(NOISE, line.spread, best.spread)
        if line.config == preferred
            and line.us <= best.us * (1 + math.min(noise, NOISE_MOST)) then
            return line
        end
    end
    return best
end

local function add_keys(records, known, seen, earlier)
    local without, lists = 0, {}
    -- A kernel's certificate: this folder's; an earlier one's where the
    -- evidence does not name the kernel.
    local function standing(id)
        return records.kernels[id]
            or not seen.kernels[id] and earlier.kernels[id]
    end
    for id, lines in pairs(seen.keys) do
        lists[id] = survivors(standing, known, lines)
    end
    local favourite = favourites(known, lists)
    for id, list in pairs(lists) do
        local isa, key = id:match("^(.-)\t(.*)$")
        local preferred = records.keys[id] and records.keys[id].config
            or favourite[isa .. "\t" .. known.entry(key).group]
        local chosen = #list > 0 and choose(list, preferred)
        if chosen then
            local other = list[1] ~= chosen and list[1] or list[2]
            records.keys[id] = {
                op = chosen.op, isa = chosen.isa, key = chosen.key,
                ranges = chosen.ranges, config = chosen.config,
                us = chosen.us + 0.0,
                runner_up = other and other.config or "-",
                runner_up_us = other and other.us + 0.0 or "-",
                device = chosen.device, reach = chosen.reach,
            }
        else
            records.keys[id] = nil
            without = without + 1
        end
    end
    return without
end

-- Certificates of kernels that are no longer candidates are dropped.
local function drop_unknown(p, records, known)
    for id, row in pairs(records.kernels) do
        if p.keep(row.op) and not known.kernel(row.kernel) then
            records.kernels[id] = nil
        end
    end
    for id, row in pairs(records.keys) do
        if p.keep(row.op) and not p.keys[row.key] then
            records.keys[id] = nil
        end
    end
end

local function count(set)
    local n = 0
    for _ in pairs(set) do
        n = n + 1
    end
    return n
end

local function change(p, records)
    local root = p.roots[#p.roots] .. "/certified/" .. p.tier
    local files, remove = certs.texts(records), {}
    for _, path in ipairs(records.files) do
        local name = path:match("[^/]+$")
        if not files[name] then
            remove[#remove + 1] = name
        end
    end
    return {root = root, files = files, remove = remove}
end

local function certify(p)
    local records = certs.load({p.roots[#p.roots]}, p.tier,
        function() return 1 end)
    local earlier = certs.load({table.unpack(p.roots, 1, #p.roots - 1)},
        p.tier, project.home(p))
    local known = knowledge(p)
    local seen = evidence.load(p.options.args, known)
    if host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    local failed = add_kernels(records, seen)
    local without = add_keys(records, known, seen, earlier)
    drop_unknown(p, records, known)
    return {
        status = (failed > 0 or without > 0) and 3 or 0,
        text = ("kiln certify: %d kernels and %d keys certified; %d kernels "
            .. "failed, %d keys without a survivor\n"):format(
            count(records.kernels), count(records.keys), failed, without),
        trees = {change(p, records)},
    }
end

return function(options)
    if #options.args == 0 then
        host.error("", 0, 0, "certify: name the evidence, such as "
            .. "build/certify/cpu.jsonl")
        return {status = 2, text = "", trees = {}}
    end
    local p = project.open(options)
    if p and #p.targets > 1 then
        host.error("", 0, 0, "certify: one tier at a time: --tier cpu")
    end
    if not p or host.errors() > 0 then
        return {status = 1, text = "", trees = {}}
    end
    return certify(p.targets[1])
end
