-- main.lua: run(command, options) -> {status=, text=, trees=} for the host;
-- see gen/main.c. status 0 done, 1 wrong input, 3 stale or uncertified.

local COMMANDS = {
    gen = "command.gen", check = "command.check", keys = "command.keys",
    explain = "command.explain", census = "command.census",
    cases = "command.cases", candidates = "command.candidates",
    certify = "command.certify",
}

local function run(command, options)
    return require(COMMANDS[command])(options)
end

return run
