-- spec.lua: spec folders into one checked model.
--
-- load(roots, options) reads the folders in order, a later one overlaying and
-- extending the earlier; options.order: fields must stand in their fixed
-- order. All errors of all files go to the sink; with any of them it returns
-- nil, else the model:
--   ops      = {op, ...} sorted by name;  op = {name -> op}
--   tilings, archs, censuses = {name -> record}
--   ladders  = {{name=, edges={...}}, ...} sorted by name
--   budget   = {name -> bound}, budget_at = {name -> its node}
--   files    = {{path=, spec=, root=}, ...} as read
-- Every record has spec ("spec/op/silu.yaml"), path, root and node.
-- X below is {text=, node=, ast=}: an expression, its names not yet resolved.
--   op = {name, family, doc, pytorch,
--     tensors = {{name, role, optional, dtypes={"f16"}, like={"x"},
--                 promote={"a", "b"} or nil, keyed,
--                 shape=nil | {tensor="x"} | {exprs={X}} | "broadcast"}},
--     attrs = {{name, type, default, choices, tried, baked, required,
--         doc}},
--     lets = {{name, text, node, ast}},
--     routes = {{name, variant or nil, when=X or nil,
--       temporaries={{name, dtype or dtype_like, zeroed, shape={X}}},
--       steps={step}}},
--     key = {{axis, text, node, ast}},
--     lattice = {shape={{tensor, exprs={X}}}, attrs={{name, values}},
--                within=X or nil} or nil,
--     flops = X or nil, formula = X or nil,
--     limits = {{dtype, ulp, abs, l2}}}
--   step = {op, when, args={{name, text, node, ast}}}
--        | {loop={var, start=X, stop=X, step=X}, when, steps={step}}
--   tiling = {name, tiers={{name, variants={{name, require=X or nil,
--             config={{name, values={int}}}}}}}}
--   arch = {name, tier, isa={...}, fields={{name, value}}, field={name->int}}
--   census = {name, models={{name, config, path}}, with={{name, value={int}}},
--             max_elements or nil, calls={{text, node, note}}}

local diag = require "diag"
local edit = require "edit"
local links = require "spec.links"
local op_file = require "spec.op"
local rest = require "spec.rest"

local M = {}

-- Folder -> where its records go and who builds them. A file there is called
-- by the name that its first field gives.
local FOLDERS = {
    {name = "op", into = "op", build = op_file.build},
    {name = "tiling", into = "tilings", build = rest.tiling},
    {name = "arch", into = "archs", build = rest.arch},
    {name = "census", into = "censuses", build = rest.census, json = true},
}

local KNOWN = {
    "buckets.yaml", "budget.yaml", "op", "tiling", "arch", "census",
    "certified",
}

local function is_ignored(name)
    return name:sub(1, 1) == "." or name:sub(-1) == "~"
end

-- Entry names of a folder; {} after reporting.
local function list(path)
    local names, why = host.list(path)
    if names then return names end
    host.error(path, 0, 0, why or "cannot be listed")
    return {}
end

local function has(names, wanted)
    for _, name in ipairs(names) do
        if name == wanted then return true end
    end
    return false
end

local function file_of(root, below)
    return {path = root .. "/" .. below, spec = "spec/" .. below, root = root}
end

-- Reads a file and builds its record, which is marked broken when it has
-- errors: then no more is said of it than its own errors and its calls.
local function build(loader, file, builder)
    table.insert(loader.model.files, file)
    local before = host.errors()
    local node = host.yaml(file.path)
    local record = node and builder(node, file, loader.options)
    if record and host.errors() > before then record.broken = true end
    return record
end

-- The place of the name that a file gives itself.
local function name_place(record, folder)
    for _, entry in ipairs(record.node) do
        if entry.key.text == folder.name then return entry.value end
    end
    return record.node
end

-- Reports a file that is not called by the name it gives, or whose name is
-- another's of the same root. owner: {name -> path}.
local function check_name(record, file, folder, owner)
    local proper = string.format("%s/%s/%s.yaml", file.root, folder.name,
                                 record.name)
    local twin = owner[record.name] or (host.read(proper) and proper)
    owner[record.name] = owner[record.name] or file.path
    local place = name_place(record, folder)
    if twin and twin ~= file.path then
        diag.at(place, "%s %s is defined by %s too; rename one", folder.name,
                record.name, twin)
    elseif file.path ~= proper then
        diag.at(place, "%s %s must stand in %s.yaml", folder.name,
                record.name, record.name)
    end
end

local function read_entry(loader, folder, root, name, owner)
    local below = folder.name .. "/" .. name
    local file = file_of(root, below)
    local base = name:match("^(.*)%.yaml$")
    if not base then
        local hint = name:find("%.yml$")
            and "; name it " .. name:gsub("yml$", "yaml")
            or "; only .yaml files stand here"
        host.error(file.path, 0, 0, "unknown file" .. hint)
    elseif host.is_dir(file.path) then
        host.error(file.path, 0, 0, "is a folder; only .yaml files stand "
                   .. "here")
    else
        local record = build(loader, file, folder.build)
        local into = loader.model[folder.into]
        if record and record.name then
            check_name(record, file, folder, owner)
        end
        record = record or {broken = true}
        record.broken = record.broken or record.name ~= base
        record.name = base
        into[base] = record
    end
end

local function read_folder(loader, folder, root)
    local path = root .. "/" .. folder.name
    if not host.is_dir(path) then
        host.error(path, 0, 0, "must be a folder")
        return
    end
    local owner = {}
    for _, name in ipairs(list(path)) do
        local skip = is_ignored(name)
            or (folder.json and name:find("%.json$"))
        if not skip then
            read_entry(loader, folder, root, name, owner)
        end
    end
end

-- Names of a root that would be passed over by mistake.
local function check_root_names(root, names)
    for _, name in ipairs(names) do
        local known = has(KNOWN, name) or is_ignored(name)
        local near = not known and edit.near(name, KNOWN)
        if near or (not known and name:find("%.ya?ml$")) then
            local hint = near and string.format("; did you mean %s?", near)
                or ""
            host.error(root .. "/" .. name, 0, 0, string.format(
                "unknown file%s (known: %s)", hint,
                table.concat(KNOWN, ", ")))
        end
    end
end

local function read_buckets(loader, root)
    local file = file_of(root, "buckets.yaml")
    for _, ladder in ipairs(build(loader, file, rest.buckets) or {}) do
        loader.ladders[ladder.name] = ladder
    end
end

local function read_budget(loader, root)
    local file = file_of(root, "budget.yaml")
    for name, bound in pairs(build(loader, file, rest.budget) or {}) do
        if name ~= "broken" then
            loader.model.budget[name] = bound.value
            loader.model.budget_at[name] = bound.node
        end
    end
end

local function read_root(loader, root)
    if not host.is_dir(root) then
        host.error(root, 0, 0, "no such spec folder")
        return
    end
    local names = list(root)
    check_root_names(root, names)
    if has(names, "buckets.yaml") then read_buckets(loader, root) end
    if has(names, "budget.yaml") then read_budget(loader, root) end
    for _, folder in ipairs(FOLDERS) do
        if has(names, folder.name) then read_folder(loader, folder, root) end
    end
end

-- The values of a table, sorted by their names.
local function by_name(records)
    local result = {}
    for _, record in pairs(records) do result[#result + 1] = record end
    table.sort(result, function(a, b) return a.name < b.name end)
    return result
end

function M.load(roots, options)
    local before = host.errors()
    local model = {op = {}, tilings = {}, archs = {}, censuses = {},
                   budget = {}, budget_at = {}, files = {}}
    local loader = {model = model, ladders = {}, options = options or {}}
    for _, root in ipairs(roots) do
        local trimmed = root:gsub("(.)/+$", "%1")
        read_root(loader, trimmed)
    end
    links.check(model)
    if host.errors() > before then return nil end
    model.ops = by_name(model.op)
    model.ladders = by_name(loader.ladders)
    return model
end

return M
