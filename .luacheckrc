-- The scripts under lua/ run in kiln's sandbox: Lua 5.4, `host` and `core`.
std = "lua54"
max_line_length = 80
read_globals = {"core", "host"}

-- Tests run under plain lua5.4 and bring small ones of their own.
files["tests"] = {globals = {"core", "host"}}
