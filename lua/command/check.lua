-- command/check.lua: kiln check: all errors of all specs, and the proof that
-- buckets are complete, disjoint and reachable.

local project = require "project"

return function(options)
    options.order = true
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local keys = 0
    for _, target in ipairs(p.targets) do
        for _ in pairs(target.keys) do
            keys = keys + 1
        end
    end
    return {
        status = 0, trees = {},
        text = ("kiln check: %d ops, %d keys declared, no errors\n"):format(
            #p.model.ops, keys),
    }
end
