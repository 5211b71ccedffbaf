"""An evaluator of the expression language that shares nothing with kiln's.

It parses the text by itself, refuses what must be refused before it runs, and
computes with Python's unbounded integers, checked against int64 at each step.
"""

import re
import struct

from expr_ref_view import (DTYPES, INT_MAX, INT_MIN, SIZES, Fault, Skip, View,
                           apply_view)

__all__ = ["DTYPES", "View", "evaluate"]

WORDS = {"let", "in", "if", "then", "else", "match", "and", "or", "not",
         "true", "false", "arch"}
TOKEN = re.compile(r"""
    (?P<float>(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+))
    |(?P<int>0|[1-9]\d*)
    |(?P<string>"[^"\\\n]*")
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<symbol>//|==|!=|<=|>=|[-+*/%<>=()\[\]{},:.])
    |(?P<blank>[ \t\r\n]+)""", re.X)


class Refused(Exception):
    """The text is no expression, or is wrong whatever the values are."""


# --- parsing: nodes are tuples (kind, ...) ---------------------------------

def tokens_of(text):
    out, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Refused("token")
        kind, word = match.lastgroup, match.group()
        at = match.end()
        if kind in ("int", "float") and re.match(r"[\w.]", text[at:at + 1]):
            raise Refused("number")
        if kind == "name" and word in WORDS:
            kind = "symbol"
        if kind != "blank":
            out.append((kind, word))
    return out + [("end", "")]


class Parser:
    LEVELS = [["or"], ["and"], None, ["==", "!=", "<", "<=", ">", ">="],
              ["+", "-"], ["*", "/", "//", "%"]]

    def __init__(self, text):
        self.tokens, self.pos = tokens_of(text), 0

    def next_is(self, word):
        kind, text = self.tokens[self.pos]
        return kind == "symbol" and text == word

    def accept(self, word):
        found = self.next_is(word)
        self.pos += found
        return found

    def expect(self, word):
        if not self.accept(word):
            raise Refused("expected " + word)

    def name(self):
        kind, text = self.tokens[self.pos]
        if kind != "name":
            raise Refused("name")
        self.pos += 1
        return text

    def whole(self):
        node = self.expr()
        if self.tokens[self.pos][0] != "end":
            raise Refused("end")
        return node

    def many(self, close, read):
        out = []
        while not self.next_is(close):
            out.append(read())
            if not self.accept(","):
                break
        self.expect(close)
        return out

    def expr(self):
        if self.accept("let"):
            name, params = self.name(), None
            if self.accept("("):
                params = self.many(")", self.name)
                if len(set(params)) != len(params):
                    raise Refused("parameter")
            self.expect("=")
            value = self.expr()
            self.expect("in")
            return ("let", name, params, value, self.expr())
        if self.accept("if"):
            cond = self.expr()
            self.expect("then")
            yes = self.expr()
            self.expect("else")
            return ("match", [(cond, yes)], self.expr())
        if self.accept("match"):
            return self.match()
        return self.operators(0)

    def match(self):
        arms, default = [], None
        self.expect("{")
        while not self.next_is("}"):
            if self.accept("else"):
                self.expect(":")
                default = self.expr()
                self.accept(",")
                break
            cond = self.expr()
            self.expect(":")
            arms.append((cond, self.expr()))
            if not self.accept(","):
                break
        self.expect("}")
        if not arms:
            raise Refused("arm")
        return ("match", arms, default)

    def operators(self, level):
        if level == len(self.LEVELS):
            return self.unary()
        ops = self.LEVELS[level]
        if ops is None:
            if self.accept("not"):
                return ("not", self.operators(level))
            return self.operators(level + 1)
        left, chained = self.operators(level + 1), 0
        while any(self.next_is(op) for op in ops):
            op = self.tokens[self.pos][1]
            self.pos += 1
            left = (op, left, self.operators(level + 1))
            chained += 1
            if level == 3 and chained > 1:
                raise Refused("chain")
        return left

    def unary(self):
        if not self.accept("-"):
            return self.primary("")
        if self.tokens[self.pos][0] in ("int", "float"):
            return self.primary("-")
        return ("neg", self.unary())

    def argument(self):
        if self.accept("["):
            return ("list", self.many("]", self.expr))
        return self.expr()

    def primary(self, sign):
        kind, word = self.tokens[self.pos]
        self.pos += 1
        if kind == "int":
            value = int(sign + word)
            if not INT_MIN <= value <= INT_MAX:
                raise Refused("int64")
            return ("value", value)
        if kind == "float":
            value = float(sign + word)
            if abs(value) == float("inf") or (
                    value == 0 and re.match(r"[0.]*[1-9]", word)):
                raise Refused("double")
            return ("value", value)
        if kind == "string":
            return ("string", word[1:-1])
        if kind == "name":
            if self.accept("("):
                return ("call", word, self.many(")", self.argument))
            return ("name", word)
        if word in ("true", "false"):
            return ("value", word == "true")
        if word == "arch":
            self.expect(".")
            return ("arch", self.name())
        if word == "(":
            node = self.expr()
            self.expect(")")
            return node
        raise Refused("value")


# --- what is refused before anything is computed ---------------------------

NUM, ANY = {"int", "float"}, {"int", "float", "bool", "tensor"}
CALLS = {"cdiv": "ii", "next_pow2": "i", "clamp": "nnn", "popcount": "i",
         "align": "ii", "size": "ti", "stride": "ti", "numel": "t",
         "rank": "t", "dtype": "t", "dtype_size": "t", "present": "t",
         "merge": "tii", "slice": "tiii", "group": "ti"}
VIEWS = {"view", "merge", "transpose", "slice", "expand", "group"}
WANT = {"i": {"int"}, "n": NUM, "b": {"bool"}, "t": {"tensor"}}


def flat(args):
    return [item for arg in args
            for item in (arg[1] if arg[0] == "list" else [arg])]


class Checker:
    """Sets of the types a value may have. Each must leave one that fits."""

    def __init__(self, scope):
        self.scope = scope

    def need(self, node, env, letter):
        types = self.types(node, env)
        if isinstance(types, tuple) or not types & WANT[letter]:
            raise Refused("type")
        return types & WANT[letter]

    def name(self, name, env):
        while env:
            if env[0] == name:
                if env[1] != "value":
                    raise Refused("function")
                return env[2]
            env = env[-1]
        if name not in self.scope["types"]:
            raise Refused("unknown")
        return self.scope["types"][name]

    def equality(self, a, b, env):
        if b[0] == "string":
            a, b = b, a
        if a[0] == "string":
            types = b[0] == "name" and self.types(b, env)
            if not isinstance(types, tuple) or a[1] not in types:
                raise Refused("choice")
            return
        both = [self.types(node, env) for node in (a, b)]
        if any(isinstance(types, tuple) for types in both):
            raise Refused("string")
        if not any(all(types & kind for types in both)
                   for kind in (NUM, {"bool"})):
            raise Refused("type")

    def types(self, node, env):
        kind = node[0]
        if kind == "value":
            return {type(node[1]).__name__}
        if kind == "name":
            return self.name(node[1], env)
        if kind == "arch":
            if node[1] not in self.scope["arch"]:
                raise Refused("arch")
            return {"int"}
        if kind == "neg":
            return self.need(node[1], env, "n")
        if kind == "not":
            return self.need(node[1], env, "b")
        if kind in ("and", "or"):
            self.need(node[1], env, "b")
            return self.need(node[2], env, "b")
        if kind in ("==", "!="):
            self.equality(node[1], node[2], env)
            return {"bool"}
        if kind in ("<", "<=", ">", ">="):
            self.need(node[1], env, "n")
            self.need(node[2], env, "n")
            return {"bool"}
        if kind in ("//", "%"):
            self.need(node[1], env, "i")
            return self.need(node[2], env, "i")
        if kind in ("+", "-", "*", "/"):
            a = self.need(node[1], env, "n")
            b = self.need(node[2], env, "n")
            if kind == "/" or "float" in (a, b) or {"float"} in (a, b):
                return {"float"}
            return a | b
        return getattr(self, kind)(node, env)

    def string(self, node, env):
        raise Refused("string")

    def list(self, node, env):
        raise Refused("list")

    def match(self, node, env):
        given = None
        branches = [value for _, value in node[1]]
        for cond, _ in node[1]:
            self.need(cond, env, "b")
        if node[2]:
            branches.append(node[2])
        for branch in branches:
            types = self.types(branch, env)
            if isinstance(types, tuple):
                raise Refused("string")
            if given is None or given == types:
                given = types
            elif given == ANY or types == ANY:
                given = ANY
            elif given <= NUM and types <= NUM:
                given = NUM
            else:
                raise Refused("branches")
        return given

    def let(self, node, env):
        _, name, params, value, body = node
        if name in CALLS or name in VIEWS | {"min", "max", "bucket"}:
            raise Refused("built in")
        if params is None:
            types = self.types(value, env)
            return self.types(body, (name, "value", types, env))
        inner = (name, "self", None, env)
        for param in params:
            inner = (param, "value", ANY, inner)
        self.types(value, inner)
        return self.types(body, (name, "function", (params, value, env), env))

    def call(self, node, env):
        _, name, args = node
        local = env
        while local and local[0] != name:
            local = local[-1]
        if local:
            if local[1] != "function" or len(local[2][0]) != len(args):
                raise Refused("call")
            params, body, outer = local[2]
            inner = (name, "self", None, outer)
            for param, arg in zip(params, args):
                inner = (param, "value", self.types(arg, env), inner)
            return self.types(body, inner)
        if name == "bucket":
            if len(args) != 2 or args[0][0] != "name" \
                    or args[0][1] not in self.scope["ladders"]:
                raise Refused("bucket")
            return self.need(args[1], env, "i")
        return self.builtin(name, flat(args), env)

    def builtin(self, name, args, env):
        takes = CALLS.get(name)
        if name in ("min", "max") and 1 <= len(args) <= 63:
            takes = "n" * len(args)
        elif name in ("view", "expand") and 1 <= len(args) <= 9:
            takes = "t" + "i" * (len(args) - 1)
        elif name == "transpose" and len(args) in (1, 3):
            takes = "tii"[:len(args)]
        if takes is None or len(takes) != len(args):
            raise Refused("arguments")
        types = [self.need(arg, env, letter)
                 for letter, arg in zip(takes, args)]
        if name in VIEWS:
            return {"tensor"}
        if name in ("min", "max", "clamp"):
            return set().union(*types)
        return {"bool"} if name == "present" else {"int"}


# --- computing --------------------------------------------------------------

def checked(value):
    if not INT_MIN <= value <= INT_MAX:
        raise Fault("overflow")
    return value


def is_int(value):
    return type(value) is int


def is_number(value):
    return type(value) in (int, float)


def arithmetic(op, a, b):
    if not (is_number(a) and is_number(b)):
        raise Fault("type")
    if op in ("//", "%"):
        if not (is_int(a) and is_int(b)):
            raise Fault("type")
        if b == 0:
            raise Fault("zero")
        return checked(a // b) if op == "//" else a % b
    if op == "/" or not (is_int(a) and is_int(b)):
        a, b = float(a), float(b)
    if op == "/":
        if b == 0:
            raise Fault("zero")
        return a / b
    value = a + b if op == "+" else a - b if op == "-" else a * b
    return checked(value) if is_int(value) else value


def compare(op, a, b):
    bools = type(a) is bool and type(b) is bool and op in ("==", "!=")
    if not bools and not (is_number(a) and is_number(b)):
        raise Fault("type")
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b,
            ">": a > b, ">=": a >= b}[op] if is_number(a) else (
                (a == b) == (op == "=="))


def ints_call(name, v):
    if not all(is_int(item) for item in v):
        raise Fault("type")
    if name == "cdiv":
        if v[1] == 0:
            raise Fault("zero")
        return checked(-(-v[0] // v[1]))
    if name == "next_pow2":
        if v[0] < 1:
            raise Fault("range")
        return checked(1 << (v[0] - 1).bit_length())
    if name == "popcount":
        if v[0] < 0:
            raise Fault("range")
        return bin(v[0]).count("1")
    if v[1] <= 0:
        raise Fault("range")
    return checked(-(-v[0] // v[1]) * v[1])


class Evaluator:
    def __init__(self, scope, values):
        self.scope, self.values, self.held = scope, values, 0

    def run(self, node, env=None):
        kind = node[0]
        if kind == "value":
            return node[1]
        if kind == "name":
            return self.name(node[1], env)
        if kind == "arch":
            return self.scope["arch"][node[1]]
        if kind == "neg":
            value = self.run(node[1], env)
            if not is_number(value):
                raise Fault("type")
            return checked(-value) if is_int(value) else -value
        if kind == "not":
            return not self.truth(node[1], env)
        if kind == "and":
            return self.truth(node[1], env) and self.truth(node[2], env)
        if kind == "or":
            return self.truth(node[1], env) or self.truth(node[2], env)
        if kind in ("let", "match", "call"):
            return getattr(self, kind)(node, env)
        if "string" in (node[1][0], node[2][0]):
            name, text = sorted(node[1:], key=lambda n: n[0] == "string")
            same = self.choice(name[1], env) == text[1]
            return same == (kind == "==")
        a, b = self.run(node[1], env), self.run(node[2], env)
        if kind in ("==", "!=", "<", "<=", ">", ">="):
            return compare(kind, a, b)
        return arithmetic(kind, a, b)

    def truth(self, node, env):
        value = self.run(node, env)
        if type(value) is not bool:
            raise Fault("type")
        return value

    def choice(self, name, env):
        while env:
            if env[0] == name:
                return self.choice(env[1][1], env[2])
            env = env[-1]
        return self.values[name]

    def name(self, name, env):
        while env:
            if env[0] == name:
                return self.run(env[1], env[2])
            env = env[-1]
        return self.values[name]

    def let(self, node, env):
        _, name, params, value, body = node
        if params is None:
            return self.run(body, (name, value, env, env))
        return self.run(body, (name, (params, value), env, env))

    def match(self, node, env):
        for cond, value in node[1]:
            if self.truth(cond, env):
                return self.run(value, env)
        if node[2] is None:
            raise Fault("arm")
        return self.run(node[2], env)

    def call(self, node, env):
        _, name, args = node
        local = env
        while local:
            if local[0] == name:
                params, body = local[1]
                inner = local[2]
                for param, arg in zip(params, args):
                    inner = (param, arg, env, inner)
                return self.run(body, inner)
            local = local[-1]
        if name == "bucket":
            return self.bucket(args[0][1], self.run(args[1], env))
        v = []
        for arg in flat(args):
            v.append(self.run(arg, env))
            self.held += isinstance(v[-1], View) and v[-1].made
        self.held -= sum(isinstance(x, View) and x.made for x in v)
        return self.builtin(name, v)

    def bucket(self, ladder, value):
        if not is_int(value):
            raise Fault("type")
        edges = self.scope["ladders"][ladder]
        if not 1 <= value <= edges[-1]:
            raise Fault("range")
        return min(edge for edge in edges if edge >= value)

    def builtin(self, name, v):
        if name in ("min", "max", "clamp"):
            if not all(is_number(x) for x in v):
                raise Fault("type")
            if name != "clamp":
                return min(v) if name == "min" else max(v)
            if v[1] > v[2]:
                raise Fault("range")
            return v[1] if v[0] < v[1] else v[2] if v[0] > v[2] else v[0]
        if name in ("cdiv", "next_pow2", "popcount", "align"):
            return ints_call(name, v)
        if not isinstance(v[0], View):
            raise Fault("type")
        if name == "present":
            return v[0].dtype != 0
        if v[0].dtype == 0:
            raise Fault("absent")
        if not all(is_int(x) for x in v[1:]):
            raise Fault("type")
        if name in VIEWS:
            if self.held:
                raise Fault("view")
            return apply_view(name, v[0], v[1:])
        return self.ask(name, v[0], v[1:])

    @staticmethod
    def ask(name, view, ints):
        if name == "numel":
            return checked(view.numel())
        if name == "rank":
            return len(view.sizes)
        if name == "dtype":
            return view.dtype
        if name == "dtype_size":
            return SIZES[view.dtype]
        rank = max(len(view.sizes), 1)
        if not -rank <= ints[0] < rank:
            raise Fault("range")
        values = view.sizes if name == "size" else view.strides
        return (values or [1])[ints[0]]


def evaluate(text, scope, values):
    """'i5', 'f<16 hex digits>', 'b1', 't' (a tensor), 'c1' (a choice),
    'e<kind of failure>', 'refused', or None when skipped."""
    try:
        node = Parser(text).whole()
        types = Checker(scope).types(node, None)
        if isinstance(types, tuple):
            return "c%d" % types.index(Evaluator(scope, values).run(node))
        value = Evaluator(scope, values).run(node)
    except Refused:
        return "refused"
    except Skip:
        return None
    except Fault as fault:
        return "e" + fault.args[0]
    if isinstance(value, View):
        return "t"
    if type(value) is bool:
        return "b%d" % value
    if is_int(value):
        return "i%d" % value
    return "f" + ("nan" if value != value
                  else struct.pack(">d", value).hex())
