-- yaml.lua: a YAML text as marked nodes: a message, or a tree in which every
-- node has its place and each collection's places ascend.

local function walk(node, depth)
    assert(depth <= 64 and node.line >= 1 and node.col >= 1)
    assert(node.path == "input.yaml")
    if node.kind == "scalar" then
        assert(type(node.text) == "string" and utf8.len(node.text))
        return
    end
    assert(node.kind == "map" or node.kind == "seq")
    for _, item in ipairs(node) do
        if node.kind == "map" then
            assert(item.key.kind == "scalar")
            item = item.value
        end
        -- An alias is its anchor's table, which stands before.
        if item.line > node.line
            or item.line == node.line and item.col > node.col then
            walk(item, depth + 1)
        end
    end
end

return function(input)
    host.clear()
    local node = host.yaml_text("input.yaml", input)
    assert((node == nil) == (host.errors() > 0), "no node and no message")
    if node then
        walk(node, 1)
    end
end
