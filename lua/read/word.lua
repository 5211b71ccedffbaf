-- read/word.lua: which words may be names. Names become C identifiers, parts
-- of file names and words of the expression language.

local M = {}

local LONGEST = 40

local function set(text, what, into)
    for word in text:gmatch("%S+") do into[word] = what end
    return into
end

-- Reserved word -> what reserves it.
M.reserved = {}

set([[auto break case char const continue default do double else enum extern
float for goto if inline int long register restrict return short signed sizeof
static struct switch typedef union unsigned void volatile while asm typeof
typeof_unqual constexpr nullptr bool true false alignas alignof static_assert
thread_local size_t ptrdiff_t wchar_t int8_t int16_t int32_t int64_t uint8_t
uint16_t uint32_t uint64_t intptr_t uintptr_t main errno]],
    "C", M.reserved)
set([[and and_eq bitand bitor catch char8_t char16_t char32_t class co_await
co_return co_yield compl concept consteval constinit const_cast decltype delete
dynamic_cast explicit export friend mutable namespace new noexcept not not_eq
operator or or_eq private protected public reinterpret_cast requires
static_cast template this throw try typeid typename using virtual xor
xor_eq]], "C++", M.reserved)
set("threadIdx blockIdx blockDim gridDim warpSize half", "CUDA", M.reserved)
set("then let in match arch", "the expression language", M.reserved)

-- What a name of each kind looks like.
M.kinds = {
    name = {
        pattern = "^[a-z][a-z0-9_]*$",
        looks = "a lower-case letter, then lower-case letters, digits or _",
    },
    symbol = {
        pattern = "^[A-Za-z][A-Za-z0-9_]*$",
        looks = "a letter, then letters, digits or _",
    },
}

-- A legal name close to text, or nil.
local function mend(text, kind)
    local name = text:gsub("[^%w]", "_"):gsub("^[_%d]+", "")
    if kind == "name" then name = name:lower() end
    if name == "" or #name > LONGEST or M.reserved[name] then return nil end
    return name
end

-- nil when text is a legal name of that kind ("name" or "symbol"), else what
-- is wrong with it, to be put after "label: ".
function M.fault(text, kind)
    local rule = M.kinds[kind]
    if #text > LONGEST then
        return string.format("a name has at most %d characters, not %d",
                             LONGEST, #text)
    end
    if not text:find(rule.pattern) then
        local name = mend(text, kind)
        local hint = name and string.format("; write %s", name) or ""
        return string.format("a name is %s%s", rule.looks, hint)
    end
    local owner = M.reserved[text]
    if owner then
        return string.format("the word belongs to %s; write %s_ or another",
                             owner, text)
    end
    return nil
end

return M
