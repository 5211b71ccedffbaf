"""Random expressions with random values, and what they must give.

usage: expr_gen.py COUNT SEED > cases

A case is `text TAB values TAB expected`; lines before them that start with #
name the slots and list the ladders and tensors. See expr_random.sh.
"""

import random
import struct
import sys

import expr_ref
from expr_ref import View

LETS = ["N", "M", "K", "budget", "is_wide", "scale"]
ATTRS = {"dim": {"int"}, "alpha": {"float"}, "causal": {"bool"},
         "mode": ("none", "tanh", "sum")}
LOOPS = ["chunk", "row"]
ARCH = {"row_tile": 4096, "cluster": 0, "max_bytes": 2**63 - 1}
CONFIG = {"lanes": 16, "unroll": -2}
CONSTANTS = {"batch": 8, "half": 0.5, "fast": True}
LADDERS = {"rows": [64, 128, 4096, 2**20], "cols": [1, 2, 3, 2**62]}
TENSORS = ["x", "y", "mask"]
EXTREMES = [-2**63, -2**63 + 1, 2**63 - 1, 2**63 - 2, 2**62, -2**62,
            2**62 + 1, 2**53, 2**53 + 1, -2**53 - 1, 2**32, 2**31, -2**31]
FLOATS = [0.0, -0.0, 1.5, -2.5, 1e-5, 5e-324, 1.7976931348623157e308, 2.0**53,
          2.0**63, -2.0**63, 9.3e18, 0.1, 1e16, float("inf"), float("nan")]
POOL = [
    View(0, [], []), View(9, [], []), View(7, [0, 3], [3, 1]),
    View(9, [2, 3, 4], [12, 4, 1]), View(8, [2, 3, 4], [24, 8, 2]),
    View(10, [4, 1, 2], [1, 77, 4], 16), View(5, [6, 2], [-2, 1], 80),
    View(1, [3, 3], [0, 1]), View(2, [2, 2, 2, 2], [8, 4, 2, 1]),
    View(9, [2**32, 2**32], [2**32, 1]), View(7, [2**31, 2**32], [2**32, 1]),
    View(7, [2**40, 0, 2**40], [1, 1, 1]), View(3, [1] * 8, [1] * 8),
    View(9, [1, 12], [999, 1]), View(4, [2, 6, 5], [30, 5, 1]),
]
TYPES = {"bool": {"bool"}, "int": {"int"}, "float": {"float"}}


def scope():
    types = dict(ATTRS)
    types.update({name: expr_ref.ANY for name in LETS})
    types.update({name: {"int"} for name in LOOPS + list(CONFIG)})
    types.update({name: {type(v).__name__} for name, v in CONSTANTS.items()})
    types.update({name: {"tensor"} for name in TENSORS})
    types.update({name: {"int"} for name in expr_ref.DTYPES[1:]})
    return {"types": types, "arch": ARCH, "ladders": LADDERS}


def random_int(r):
    kind = r.random()
    if kind < 0.45:
        return r.randint(-4, 9)
    if kind < 0.65:
        return r.randint(-5000, 5000)
    if kind < 0.9:
        return r.choice(EXTREMES)
    return r.getrandbits(64) - 2**63


def random_float(r):
    if r.random() < 0.6:
        return r.choice(FLOATS)
    return r.uniform(-1, 1) * 10.0 ** r.randint(-20, 20)


def random_values(r):
    values = {"dim": random_int(r), "alpha": random_float(r),
              "causal": r.random() < 0.5, "mode": r.choice(ATTRS["mode"])}
    for name in LETS:
        kind = r.random()
        values[name] = (random_int(r) if kind < 0.75 else random_float(r)
                        if kind < 0.9 else r.random() < 0.5)
    values["is_wide"] = r.random() < 0.5
    values["scale"] = random_float(r)
    for name in LOOPS:
        values[name] = random_int(r)
    for name in TENSORS:
        values[name] = r.randrange(len(POOL))
    return values


class Writer:
    """Writes random text; kind is int, float, bool or tensor, level how
    loosely the text may bind: 0 let/if/match, 1 or, 2 and, 3 not, 4 compare,
    5 sum, 6 product, 7 minus, 8 value."""

    def __init__(self, r):
        self.r, self.locals, self.count = r, [], 0

    def any_kind(self, kind):
        """Now and then a kind that does not fit."""
        if self.r.random() < 0.004:
            return self.r.choice(["int", "float", "bool", "tensor"])
        if kind == "int" and self.r.random() < 0.02:
            return "float"
        return kind

    def make(self, kind, depth, level=0):
        r = self.r
        kind = self.any_kind(kind)
        if depth <= 0 or r.random() < 0.12:
            return self.leaf(kind)
        if r.random() < 0.12:
            text, own = self.form(kind, depth - 1), 0
        else:
            text, own = getattr(self, kind)(depth - 1)
        return "(" + text + ")" if own < level or r.random() < 0.05 else text

    def leaf(self, kind):
        r = self.r
        names = [name for name, local in self.locals if local == kind]
        if names and r.random() < 0.5:
            return r.choice(names)
        if kind == "tensor":
            return r.choice(TENSORS)
        if kind == "bool":
            return r.choice(["true", "false", "is_wide", "causal", "fast",
                             'mode == "tanh"', '"sum" != mode',
                             "present(mask)", "is_wide"]).join(
                                 ["(", ")"] if r.random() < 0.7 else ["", ""])
        if kind == "float":
            text = r.choice(["alpha", "scale", "half", repr(
                abs(r.choice(FLOATS[:13]))), "1.5e-3", "2e2"])
            return text.replace("e+", r.choice(["e+", "e"]))
        if r.random() < 0.5:
            return r.choice(["N", "M", "K", "dim", "budget", "chunk", "row",
                             "arch.row_tile", "arch.max_bytes", "lanes",
                             "unroll", "batch", "arch.cluster", "f32", "bool"])
        return self.literal(random_int(r))

    @staticmethod
    def literal(value):
        return "(%d)" % value if value < 0 else "%d" % value

    def bind(self, kind):
        self.count += 1
        name = self.r.choice(["v%d" % self.count, "N", "t", "x_"])
        self.locals.append((name, kind))
        return name

    def form(self, kind, depth):
        r, pick = self.r, self.r.random()
        if pick < 0.35:
            return "if %s then %s else %s" % (
                self.make("bool", depth), self.make(kind, depth),
                self.make(kind, depth))
        if pick < 0.55:
            arms = ["%s: %s" % (self.make("bool", depth),
                                self.make(kind, depth))
                    for _ in range(r.randint(1, 3))]
            if r.random() < 0.7:
                arms.append("else: " + self.make(kind, depth))
            return "match {%s%s}" % (", ".join(arms),
                                     "," if r.random() < 0.3 else "")
        before = list(self.locals)
        value_kind = r.choice(["int", "int", "float", "bool", "tensor"])
        if pick < 0.8:
            value = self.make(value_kind, depth)
            name = self.bind(value_kind)
            body = self.make(kind, depth)
            text = "let %s = %s in %s" % (name, value, body)
        else:
            text = self.function(kind, value_kind, depth)
        self.locals = before
        return text

    def function(self, kind, value_kind, depth):
        before = list(self.locals)
        names = [self.bind(value_kind) for _ in range(self.r.randint(0, 2))]
        value = self.make(kind, depth)
        self.locals = before
        self.count += 1
        name = "f%d" % self.count
        calls = ["%s(%s)" % (name, ", ".join(
            self.make(value_kind, depth - 1) for _ in names))
            for _ in range(2)]
        op = {"int": " + ", "float": " * ", "bool": " or "}.get(kind)
        body = op.join(calls) if op else calls[0]
        return "let %s(%s) = %s in %s" % (name, ", ".join(names), value, body)

    def binary(self, op, kind, level, depth):
        space = self.r.choice([" ", " ", "", "  "])
        if op[0].isalpha():
            space = " "
        return "%s%s%s%s%s" % (self.make(kind, depth, level), space, op,
                               space, self.make(kind, depth, level + 1))

    def bool(self, depth):
        r, pick = self.r, self.r.random()
        if pick < 0.2:
            return self.binary("or", "bool", 1, depth), 1
        if pick < 0.4:
            return self.binary("and", "bool", 2, depth), 2
        if pick < 0.5:
            return "not " + self.make("bool", depth, 3), 3
        if pick < 0.55:
            return "%s %s %s" % (self.make("bool", depth, 5),
                                 r.choice(["==", "!="]),
                                 self.make("bool", depth, 5)), 4
        op = r.choice(["==", "!=", "<", "<=", ">", ">="])
        kind = r.choice(["int", "int", "float"])
        other = kind if r.random() < 0.6 else r.choice(["int", "float"])
        return "%s %s %s" % (self.make(kind, depth, 5), op,
                             self.make(other, depth, 5)), 4

    def float(self, depth):
        r, pick = self.r, self.r.random()
        if pick < 0.15:
            return "-" + self.make("float", depth, 7), 7
        if pick < 0.3:
            return self.chooser(["float", "int"], depth), 8
        op = r.choice(["+", "-", "*", "/"])
        kind = "int" if r.random() < 0.3 else "float"
        level = 5 if op in "+-" else 6
        return "%s %s %s" % (self.make(kind, depth, level), op,
                             self.make("float", depth, level + 1)), level

    def chooser(self, kinds, depth):
        name = self.r.choice(["min", "max", "clamp"])
        count = 3 if name == "clamp" else self.r.randint(1, 4)
        args = [self.make(self.r.choice(kinds), depth) for _ in range(count)]
        text = ", ".join(args)
        return "%s(%s)" % (name, "[%s]" % text if self.r.random() < 0.1
                           else text)

    def int(self, depth):
        r, pick = self.r, self.r.random()
        if pick < 0.5:
            op = r.choice(["+", "-", "*", "*", "//", "%", "+"])
            level = 5 if op in "+-" else 6
            return self.binary(op, "int", level, depth), level
        if pick < 0.58:
            return "-" + self.make("int", depth, 7), 7
        if pick < 0.68:
            return self.chooser(["int"], depth), 8
        if pick < 0.82:
            name = r.choice(["cdiv", "align", "next_pow2", "popcount",
                             "bucket"])
            args = [self.make("int", depth)
                    for _ in range(2 if name in ("cdiv", "align") else 1)]
            if name == "bucket":
                args.insert(0, r.choice(list(LADDERS)))
            return "%s(%s)" % (name, ", ".join(args)), 8
        name = r.choice(["size", "size", "numel", "rank", "dtype",
                         "dtype_size", "stride"])
        text = r.choice(TENSORS) if name == "stride" else self.make("tensor",
                                                                    depth)
        if name in ("size", "stride"):
            text += ", " + (self.make("int", depth) if r.random() < 0.2
                            else str(r.randint(-3, 3)))
        return "%s(%s)" % (name, text), 8

    def tensor(self, depth):
        r = self.r
        name = r.choice(["transpose", "transpose", "slice", "expand", "merge",
                         "view", "group"])
        small = [str(r.randint(-2, 4)) for _ in range(4)]
        args = {"transpose": r.choice([[], small[:2]]), "merge": small[:2],
                "slice": [small[0], "0", str(r.randint(0, 3))],
                "expand": [str(r.choice([-1, 1, 2, 3]))
                           for _ in range(r.randint(2, 4))],
                "view": r.choice([["-1"], ["-1", "2"], ["2", "-1", "3"],
                                  ["24"], ["6", "4"], ["2", "12"], [],
                                  ["4", "2", "1"], ["2", "2", "6"]]),
                "group": [r.choice(["1", "2", "3", "0"])]}[name]
        text = ", ".join(args)
        if name in ("view", "expand"):
            text = "[%s]" % text
        if text:
            text = ", " + text
        return "%s(%s%s)" % (name, self.make("tensor", depth), text), 8


def damage(r, text):
    at = r.randrange(len(text) + 1)
    if r.random() < 0.5:
        return text[:at] + text[at + 1:]
    return text[:at] + r.choice("()[]{},:.+-*/%<>=! 0123eE\"#_aN") + text[at:]


def value_text(value):
    if isinstance(value, bool):
        return "b%d" % value
    if isinstance(value, float):
        return "f" + struct.pack(">d", value).hex()
    return "i%d" % value


def assignment(values):
    slots = [value_text(values[name]) for name in LETS + ["dim", "alpha",
                                                          "causal"]]
    slots.append("i%d" % ATTRS["mode"].index(values["mode"]))
    slots += [value_text(values[name]) for name in LOOPS]
    return " ".join(slots + [value_text(values[name]) for name in TENSORS])


def header():
    print("#lets", *LETS)
    print("#attrs dim:int alpha:float causal:bool mode:string:none:tanh:sum")
    print("#loops", *LOOPS)
    print("#arch", *ARCH)
    print("#config", *CONFIG)
    print("#constants batch:8 half:0.5 fast:true")
    print("#ladders", *LADDERS)
    print("#tensors", *TENSORS)
    for edges in LADDERS.values():
        print("#ladder", len(edges), *edges)
    print("#profile", *ARCH.values())
    print("#chosen", *CONFIG.values())
    for v in POOL:
        print("#pool", v.dtype, len(v.sizes), v.offset, *v.sizes, *v.strides)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    r, known = random.Random(seed), scope()
    header()
    while count > 0:
        kind = r.choice(["int", "int", "bool", "float", "tensor"])
        text = Writer(r).make(kind, r.randint(1, 5))
        if r.random() < 0.04:
            text = damage(r, text)
        if len(text) > 1000:
            continue
        values = random_values(r)
        meant = dict(values)
        meant.update({name: POOL[values[name]] for name in TENSORS})
        meant.update(CONFIG)
        meant.update(CONSTANTS)
        meant.update({name: i for i, name in enumerate(expr_ref.DTYPES)
                      if i > 0})
        expected = expr_ref.evaluate(text, known, meant)
        if expected is not None and "\n" not in text and "\t" not in text:
            print(text, assignment(values), expected, sep="\t")
            count -= 1


if __name__ == "__main__":
    main()
