-- command/keys.lua: kiln keys: every declared key with its state in each ISA.

local project = require "project"

local function state_of(entry, isa)
    if entry.served[isa] then
        return "certified"
    end
    return entry.stale[isa] and "stale" or "uncertified"
end

local function add(p, out)
    local state = project.resolve(p)
    for _, entry in ipairs(state.keys) do
        for _, isa in ipairs(p.isas) do
            local served = entry.served[isa]
            out[#out + 1] = table.concat({entry.key, p.tier, isa,
                state_of(entry, isa),
                served and served.kernel.config_text or "-"}, "\t")
        end
    end
end

return function(options)
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local out = {"# key\ttier\tisa\tstate\tconfig"}
    for _, target in ipairs(p.targets) do
        add(target, out)
    end
    return {
        status = host.errors() > 0 and 1 or 0, trees = {},
        text = table.concat(out, "\n") .. "\n",
    }
end
