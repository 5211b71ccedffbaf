-- spec.lua: a spec folder from the input: the small one of memory.lua, in
-- which files (`@@ op/relu.yaml` and what follows) are replaced or added.
-- kiln check and, when it finds nothing, for one length of input in four (it is
-- slow) kiln gen.

local main = require "main"

local function run(command)
    local result = main(command, {spec = {"spec"}, args = {}, out = "out"})
    assert((result.status == 1) == (host.errors() > 0),
        "status and messages differ")
    return result
end

return function(input)
    host.clear()
    host.small()
    for _, file in ipairs(host.split(input)) do
        host.put("spec/" .. file.path, file.text)
    end
    if run("check").status == 0 and #input % 4 == 0 then
        run("gen")
    end
end
