-- command/gen.lua: kiln gen: the output tree from specs and certificates.

local project = require "project"
local tree = require "tree"

return function(options)
    local p = project.open(options)
    if not p then
        return {status = 1, text = "", trees = {}}
    end
    local states = {}
    for i, target in ipairs(p.targets) do
        states[i] = project.resolve(target)
    end
    local files = tree.gen(p, states)
    local kernels, lines, bytes = tree.check_budget(p, files, states)
    local stale = select(2, files["STALE.tsv"]:gsub("\n", "")) - 1
    local served = select(2, files["KEYS.tsv"]:gsub("\n", "")) - 1
    local text = ("kiln gen: %s: %d certified keys (%d stale), %d kernels, "
        .. "%d lines, %d bytes\n"):format(options.out, served, stale, kernels,
        lines, bytes)
    local change = tree.change(options.out, files, options.spec)
    local wrong = host.errors() > 0
    return {
        status = wrong and 1 or 0,
        text = (options.check or wrong) and "" or text,
        trees = {change},
    }
end
