#!/usr/bin/env python3
"""Writes case_data.h, the tensor cases of tests/cases, from cases.json:

  python3 tests/golden/make_cases.py [--check]

A case of cases.json:
  id           its name
  call         as tests/certify/call.h reads it
  inputs       a list an input: what its buffer holds from the base on
  want         the output's elements, with the tolerance abs + rel * |want|
  refused      or: the call is invalid, and the text says this
  unserved     or: the op has no kernels of this dtype, so that it is refused
  output_type  DLPack code and bits in place of the call's
  devices      device number an input
  dims         in place of all shapes; no buffer is touched then
"""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def literal(value):
    value = float(value)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "-INFINITY" if value < 0 else "INFINITY"
    return repr(value)


def text(value):
    return '"%s"' % value if value else "NULL"


def array(name, values):
    cells = [literal(v) for v in values]
    lines = [", ".join(cells[i:i + 4]) for i in range(0, len(cells), 4)]
    return "static const double %s[] = {\n    %s};\n" % (
        name, ",\n    ".join(lines))


def case(number, c):
    """The arrays of a case, and its row."""
    arrays, inputs = [], []
    for i, values in enumerate(c["inputs"]):
        arrays.append(array("case_%d_in_%d" % (number, i), values))
        inputs.append("{case_%d_in_%d, %d}" % (number, i, len(values)))
    want = "NULL, 0"
    if "want" in c:
        arrays.append(array("case_%d_want" % number, c["want"]))
        want = "case_%d_want, %d" % (number, len(c["want"]))
    code, bits = c.get("output_type", (0, 0))
    devices = c.get("devices", [0])
    dims = c.get("dims", [0])
    row = "    {%s,\n     %s,\n     {%s},\n     %s, %s, %s,\n     " \
        "%s, %s,\n     {%d, %d, 1}, {%s}, {%s}},\n" % (
            text(c["id"]), text(c["call"]), ", ".join(inputs), want,
            literal(c.get("abs", 0)), literal(c.get("rel", 0)),
            text(c.get("refused")), text(c.get("unserved")), code, bits,
            ", ".join(map(str, devices)),
            ", ".join("INT64_C(%d)" % d for d in dims))
    return "\n".join(arrays), row


def header(cases):
    parts = [case(i, c) for i, c in enumerate(cases)]
    return ("/* case_data.h: written by make_cases.py from cases.json. */\n"
            "#include <math.h>\n#include <stdint.h>\n\n"
            + "\n".join(arrays for arrays, _ in parts)
            + "\nstatic const tensor_case case_rows[] = {\n"
            + "".join(row for _, row in parts) + "};\n")


def main():
    with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
        made = header(json.load(file))
    path = os.path.join(HERE, "case_data.h")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            sys.exit(file.read() != made)
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)


main()
