#!/usr/bin/env python3
"""Writes golden_truth.h: values that tests/unit/test_truth.c holds truth to.

Needs PyTorch, NumPy and mpmath: python3 tests/golden/make_golden.py
  *_EXACT  mpmath at 60 digits, rounded once to double
  *_TORCH  PyTorch in float64, for semantics (NaN, infinities, broadcasting)
  HALF_*   NumPy and Python's struct, for the conversions
"""
import math
import os
import random
import struct

import mpmath
import numpy
import torch

mpmath.mp.dps = 60
INF, NAN = math.inf, math.nan

POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0.1, -0.1, 2.0, -2.0, 3.25, -3.25,
          5.5, -5.5, 8.0, -8.0, 12.0, -12.0, 20.0, -20.0, 30.0, -30.0, 38.5,
          -38.5, 88.0, -88.0, 104.0, -104.0, 300.0, -300.0, 700.0, -700.0,
          709.5, -709.5, -720.0, -740.0, 1e-3, -1e-3, 1e-8, -1e-8, 1e-300,
          -1e-300, 5e-324, -5e-324, 6.0e4, -6.0e4, 1e30, -1e30,
          0.7978845608028654, -1.4142135623730951]
SPECIAL = [INF, -INF, NAN]


def literal(v):
    v = float(v)
    if math.isnan(v):
        return "NAN"
    if math.isinf(v):
        return "-INFINITY" if v < 0 else "INFINITY"
    return v.hex()


def array(name, values, kind="double"):
    show = literal if kind == "double" else lambda v: f"{int(v):#x}"
    lines = [f"static const {kind} {name}[] = {{"]
    cells = [show(v) for v in values]
    lines += ["    " + ", ".join(cells[i:i + 3]) + ","
              for i in range(0, len(cells), 3)]
    return "\n".join(lines + ["};", ""])


def nearest(v):
    """mpmath to double, half to even, subnormals and overflow too."""
    v = mpmath.mpf(v)
    if v == 0:
        return 0.0
    if mpmath.isinf(v) or mpmath.isnan(v):
        return float(v)
    exponent = int(mpmath.floor(mpmath.log(abs(v), 2)))
    ulp = mpmath.mpf(2) ** max(exponent - 52, -1074)
    count = int(mpmath.nint(v / ulp))
    try:
        return math.ldexp(count, max(exponent - 52, -1074))
    except OverflowError:
        return math.copysign(INF, count)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def gelu(x):
    return x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gelu_tanh(x):
    # The constants of the definition: a double would not hold them exactly.
    u = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x ** 3)
    return x / (1 + mpmath.exp(-2 * u))


EXACT = {"silu": lambda x: x * sigmoid(x), "sigmoid": sigmoid,
         "tanh": mpmath.tanh, "exp": mpmath.exp, "gelu": gelu,
         "gelu_tanh": gelu_tanh, "relu": lambda x: max(x, mpmath.mpf(0))}
F = torch.nn.functional
TORCH = {"silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
         "exp": torch.exp, "gelu": F.gelu, "relu": F.relu,
         "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}


def unary():
    out = [array("POINTS", POINTS), array("SPECIAL", SPECIAL)]
    for name, f in sorted(EXACT.items()):
        values = [nearest(f(mpmath.mpf(x))) for x in POINTS]
        out.append(array(name.upper() + "_EXACT", values))
    special = torch.tensor(SPECIAL, dtype=torch.float64)
    for name, f in sorted(TORCH.items()):
        out.append(array(name.upper() + "_TORCH", f(special).tolist()))
    return out


def softmax_exact(row, log):
    row = [mpmath.mpf(v) for v in row]
    total = sum(mpmath.exp(v - max(row)) for v in row)
    if log:
        return [nearest(v - max(row) - mpmath.log(total)) for v in row]
    return [nearest(mpmath.exp(v - max(row)) / total) for v in row]


def rows():
    rng = random.Random(1)
    finite = [[rng.gauss(0, 4) for _ in range(7)],
              [0.0] * 7,
              [1e4 + i for i in range(7)],
              [50.0, 0, -1, -2, -3, -50, -700],
              [-1e300, 1e300, 0, 1, 2, 3, 4]]
    special = [[0, 1, -INF, 2, -INF, 3, 4], [-INF] * 7,
               [0, NAN, 1, 2, 3, 4, 5], [0, INF, 1, 2, 3, 4, 5],
               [-INF, -INF, 0, -INF, -INF, -INF, -INF]]
    flat = [v for row in finite for v in row]
    out = [array("ROWS", flat)]
    for log in (False, True):
        name = "ROWS_LOG_EXACT" if log else "ROWS_SOFTMAX_EXACT"
        out.append(array(name, [v for row in finite
                                for v in softmax_exact(row, log)]))
    t = torch.tensor(special, dtype=torch.float64)
    out.append(array("ROWS_SPECIAL", t.flatten().tolist()))
    out.append(array("ROWS_SOFTMAX_TORCH",
                     torch.softmax(t, 1).flatten().tolist()))
    out.append(array("ROWS_LOG_TORCH",
                     torch.log_softmax(t, 1).flatten().tolist()))
    return out


def strided():
    """A [3, 4, 5] view of a buffer of [5, 4, 3], and what it broadcasts to."""
    torch.manual_seed(2)
    base = torch.randn(5, 4, 3, dtype=torch.float64).float()
    other = torch.randn(4, 1, dtype=torch.float64).float()
    a = base.double().permute(2, 1, 0)
    b = other.double()
    out = [array("BASE", base.flatten().tolist()),
           array("OTHER", other.flatten().tolist())]
    for dim in range(3):
        out.append(array(f"VIEW_SOFTMAX_{dim}",
                         torch.softmax(a, dim).flatten().tolist()))
        out.append(array(f"VIEW_LOG_SOFTMAX_{dim}",
                         torch.log_softmax(a, dim).flatten().tolist()))
    out.append(array("VIEW_ADD", torch.add(a, b, alpha=0.5).flatten().tolist()))
    out.append(array("VIEW_MUL", (a * b).flatten().tolist()))
    out.append(array("VIEW_WHERE",
                     torch.where(b > 0, a, b).flatten().tolist()))
    return out


def copies():
    x = torch.tensor([0.0, -0.0, 0.4, 1.5, -1.5, 2.5, -2.5, 100.99, -100.99],
                     dtype=torch.float64)
    out = [array("COPY", x.tolist())]
    for name, kind in (("BOOL", torch.bool), ("I8", torch.int8),
                       ("I64", torch.int64)):
        out.append(array("COPY_" + name, x.to(kind).double().tolist()))
    return out


def fnv(words, size):
    h = 0xcbf29ce484222325
    for w in words:
        for byte in int(w).to_bytes(size, "little"):
            h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def bf16_bits(v):
    """Exact: the nearest of the code, by integers alone."""
    sign = 0x8000 if math.copysign(1, v) < 0 else 0
    if v == 0 or math.isinf(v):
        return sign | (0x7f80 if v else 0)
    m, e = math.frexp(abs(v))  # v = m * 2^e
    q = max(e - 8, -133)
    n, d = float.as_integer_ratio(abs(v))
    n, d = (n << -q, d) if q < 0 else (n, d << q)
    count, rest = divmod(n, d)
    count += 2 * rest > d or (2 * rest == d and count % 2)
    return sign | min((q + 133) * 128 + count, 0x7f80)


def half():
    """Ties, both sides of them, overflow and subnormals."""
    codes = range(0x7c00)
    f16 = [struct.unpack("<e", struct.pack("<H", c))[0] for c in codes]
    out = ["/* FNV-1a of the bytes of doubles decoded from 0 .. 0x7c00. */\n"
           "#define F16_DECODED UINT64_C(%#x)\n" % fnv(
               (struct.unpack("<Q", struct.pack("<d", v))[0]
                for v in f16 + [INF]), 8)]
    edge = [(f16[i] + f16[i + 1]) / 2 for i in
            [0, 1, 2, 3, 1022, 1023, 1024, 1025, 5000, 5001, 31741, 31742]]
    edge += [65519.0, 65520.0, 65519.99999999999, 1e5, 2.0 ** -25, 2.0 ** -26,
             1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -11 + 2.0 ** -40,
             1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, 1 + 2.0 ** -8 + 2.0 ** -40,
             257.0, 259.0, 3.3895313892515355e38, 3.3961775292304957e38,
             3.39e38, 2.0 ** -134, 2.0 ** -135, 3 * 2.0 ** -134, 2.0 ** -126,
             1e-40, INF, 0.0]
    edge += [math.nextafter(v, INF) for v in edge]
    edge += [math.nextafter(v, 0) for v in edge]
    rng = random.Random(3)
    edge += [math.ldexp(rng.random() + 1, rng.randint(-30, 17))
             for _ in range(40)]
    edge += [-v for v in edge]
    with numpy.errstate(over="ignore"):
        bits = numpy.array(edge).astype(numpy.float16).view(numpy.uint16)
    out.append(array("HALVES", edge))
    out.append(array("HALVES_F16", bits, "uint16_t"))
    out.append(array("HALVES_BF16", map(bf16_bits, edge), "uint16_t"))
    return out


def main():
    text = ["/* golden_truth.h: written by make_golden.py from PyTorch "
            f"{torch.__version__.split('+')[0]}, NumPy\n"
            f" * {numpy.__version__} and mpmath {mpmath.__version__}. */",
            "#include <math.h>", "#include <stdint.h>", ""]
    for part in (unary, rows, strided, copies, half):
        text += part()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "golden_truth.h")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(text))


main()
