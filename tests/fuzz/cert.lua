-- cert.lua: certificates from the input: `kernels` or `keys` on its first
-- line, then the table. What is read without an error is written back the
-- same, and meets the keys of the small spec folder.

local certs = require "certs"
local project = require "project"

host.clear()
host.small()
local p = assert(project.open({spec = {"spec"}})).targets[1]
local home = project.home(p)

return function(input)
    local kind, text = input:match("^(k%a+)\n(.*)$")
    local path = "spec/certified/cpu/relu." .. (kind or "keys") .. ".tsv"
    host.clear()
    host.put(path, text or input)
    local records = certs.load({"spec"}, "cpu", home)
    local before = host.errors()
    project.resolve(p)
    if before > 0 then
        return
    end
    local texts = certs.texts(records)
    host.clear()
    for name, table_text in pairs(texts) do
        host.put("spec/certified/cpu/" .. name, table_text)
    end
    local again = certs.texts(certs.load({"spec"}, "cpu", home))
    assert(host.errors() == 0, "what was written is refused")
    for name, table_text in pairs(texts) do
        assert(again[name] == table_text, "written otherwise the second time")
    end
end
