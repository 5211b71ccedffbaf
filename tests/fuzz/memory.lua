-- memory.lua: `host` with files in memory, for fuzzing: put(path, text),
-- clear(), disk(path) reads a real file. host.errors counts from clear() on.
-- Also split(text) -> {{path=, text=} ...}: files in one text, each after a
-- line `@@ path`.

local host = host
local read, errors = host.read, host.errors
local files, before = {}, 0

host.disk = read

function host.clear()
    files, before = {}, errors()
end

function host.put(path, text)
    files[path] = text
end

function host.errors()
    return errors() - before
end

function host.read(path)
    assert(not path:find("\0", 1, true), "a path holds a NUL byte")
    if files[path] then
        return files[path]
    end
    return nil, "cannot be read: No such file or directory"
end

local function below(folder, path)
    return path:sub(1, #folder + 1) == folder .. "/"
        and path:sub(#folder + 2):match("^[^/]+")
end

function host.list(folder)
    local names, set = {}, {}
    for path in pairs(files) do
        local name = below(folder, path)
        if name and not set[name] then
            set[name] = true
            names[#names + 1] = name
        end
    end
    if #names == 0 then
        return nil, "cannot be read: No such file or directory"
    end
    table.sort(names)
    return names
end

function host.is_dir(folder)
    return host.list(folder) ~= nil
end

function host.yaml(path)
    local text, why = host.read(path)
    if not text then
        host.error(path, 0, 0, why)
        return nil
    end
    return host.yaml_text(path, text)
end

function host.split(text)
    local out = {}
    for line in text:gmatch("[^\n]*\n?") do
        local path = line:match("^@@ ([^\n\0]+)\n?$")
        if path then
            out[#out + 1] = {path = path, text = ""}
        elseif #out > 0 then
            out[#out].text = out[#out].text .. line
        end
    end
    return out
end

-- A small spec folder: two ops, few keys, a census.
function host.small()
    for _, path in ipairs {"op/relu.yaml", "op/softmax.yaml",
        "arch/cpu.yaml", "budget.yaml"} do
        local text = assert(read("spec/" .. path))
        text = text:gsub("row_tile: %d+", "row_tile: 64")
        text = text:gsub("[^\n]*variant: block_tile[^\n]*\n", "")
        text = text:gsub("[^\n]*variant: cluster[^\n]*\n", "")
        text = text:gsub("%[f16, bf16, f32, f64%]", "[f16, f32]")
        text = text:gsub("\n  bf16: [^\n]*", ""):gsub("\n  f64: [^\n]*", "")
        host.put("spec/" .. path, text)
    end
    host.put("spec/buckets.yaml", "ladders:\n  elements: [64, 128]\n"
        .. "  rows: [64]\n  cols: [64, 128]\n")
    host.put("spec/tiling/elementwise.yaml", "tiling: elementwise\ntiers:\n"
        .. "  cpu:\n    map: {config: {block: [4096]}}\n")
    host.put("spec/tiling/softmax.yaml", "tiling: softmax\ntiers:\n  cpu:\n"
        .. "    single_tile: {config: {lanes: [32]}}\n"
        .. "    looped: {config: {lanes: [32], block: [1024]}}\n")
    host.put("spec/census/small.yaml", "census: small\nmodels:\n"
        .. "  - {name: Small, config: small.json}\nwith:\n  batch: [1, 8]\n"
        .. "max_elements: 65536\ncalls:\n"
        .. '  - {call: "softmax x=f32[batch * heads, vocab_size]", '
        .. 'note: scores}\n  - {call: "relu x=f16[batch * vocab_size]", '
        .. "note: gate}\n")
    host.put("spec/census/small.json", '{"heads": 4, "vocab_size": 100}\n')
end
