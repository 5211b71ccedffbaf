"""Holds the output of `kiln keys` (standard input) against the specs.

  gen_keys.py counts  GOLDEN < keys      key counts an op and dtypes
  gen_keys.py ladders SPEC   < keys      buckets complete, without overlap
  gen_keys.py calls   SPEC N < keys      N random softmax calls, with their keys

It reads ladders and the profile from SPEC by regular expressions and repeats
the arithmetic of buckets, limits and routes by itself.
"""
import random
import re
import sys
from collections import Counter, defaultdict

SIZE = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def keys():
    """{key text}, of standard input."""
    return {line.split("\t")[0] for line in sys.stdin if line[0] != "#"}


def split(key):
    """op, variant, dtypes, baked and layout, {axis: size} of a key's text."""
    words = key.split()
    op, variant = words[0].split("/")
    sizes = {}
    while re.fullmatch(r"[A-Za-z]\w*=\d+", words[-1]) and (
            words[-1].split("=")[0] in ("M", "N", "n")):
        name, size = words.pop().split("=")
        sizes[name] = int(size)
    return op, variant, words[1], " ".join(words[2:]), sizes


def read_spec(root):
    text = open(root + "/buckets.yaml", encoding="utf-8").read()
    ladders = {
        name: [int(edge) for edge in edges.split(",")]
        for name, edges in re.findall(r"^  (\w+): \[(.*)\]", text, re.M)
    }
    text = open(root + "/arch/cpu.yaml", encoding="utf-8").read()
    fields = {n: int(v) for n, v in re.findall(r"^  (\w+): (\d+)", text, re.M)}
    return ladders, fields


def counts(golden):
    """Prints what differs."""
    seen = Counter()
    for key in keys():
        op, _, dtypes, _, _ = split(key)
        seen[op, dtypes] += 1
    rows = ["# op\tdtypes\tkeys"]
    rows += ["%s\t%s\t%d" % (*k, n) for k, n in sorted(seen.items())]
    want = open(golden, encoding="utf-8").read().split("\n")[:-1]
    for line in sorted(set(rows) ^ set(want)):
        print("found" if line in rows else "wanted", line)
    wide = Counter()
    for (op, dtypes), n in seen.items():
        if op == "softmax":
            wide[dtypes.split("_")[0]] += n
    few = {d: wide[d] for d in SIZE if wide[d] < 300}
    if few:
        print("softmax: fewer than 300 keys:", few)
    return rows == want and not few


AXES = {"M": "rows", "N": "cols", "n": "elements"}


def interval(ladders, axis, size):
    """(low, high] of a lattice bucket, or None: a census cell."""
    edges = ladders[AXES[axis]]
    if size not in edges:
        return None
    at = edges.index(size)
    return (edges[at - 1] if at else 0), size


def top(edges, size):
    return next((edge for edge in edges if edge >= size), None)


def sample(edges, most):
    """Every edge and its neighbours, and random sizes on a log scale."""
    out = {1, most}
    for edge in edges:
        out |= {edge - 1, edge, edge + 1}
    for _ in range(20):
        out.add(int(2 ** random.uniform(0, most.bit_length())))
    return sorted(size for size in out if 1 <= size <= most)


def groups():
    """{(op, dtypes, rest): [(variant, sizes)]}."""
    out = defaultdict(list)
    for key in keys():
        op, variant, dtypes, rest, sizes = split(key)
        out[op, dtypes, rest].append((variant, sizes))
    return out


def covering(ladders, list_, point):
    """Variants of the lattice keys that hold a point."""
    found = []
    for variant, sizes in list_:
        spans = {a: interval(ladders, a, s) for a, s in sizes.items()}
        if all(s and s[0] < point[a] <= s[1] for a, s in spans.items()):
            found.append(variant)
    return found


def wanted(ladders, fields, op, dtypes, point):
    """The variants that should hold it: one, or none past the limits."""
    tops = {a: top(ladders[AXES[a]], v) for a, v in point.items()}
    if None in tops.values():
        return []
    dtypes = dtypes.split("_")
    total = {"softmax": SIZE[dtypes[0]], "mul": max(SIZE[d] for d in dtypes)
             }.get(op, SIZE[dtypes[-1]])
    for edge in tops.values():
        total *= edge
    if total > fields["lattice_bytes"]:
        return []
    if op != "softmax":
        return ["map"]
    fits = point["N"] <= fields["row_tile"]
    return ["single_tile" if fits else "looped"]


def smallest_of_layout(op, rest, point):
    """Whether a tensor of that many elements can have the layout at all: two
    rows, or two elements, to lie apart."""
    return rest.endswith("contiguous") or min(point.values()) >= 4


def ladders_hold(spec):
    ladders, fields = read_spec(spec)
    bad = checked = 0
    for (op, dtypes, rest), list_ in sorted(groups().items()):
        if op == "softmax":
            points = [{"M": m, "N": n}
                      for m in random.sample(sample(ladders["rows"], 2**20), 14)
                      for n in random.sample(sample(ladders["cols"], 2**18), 14)]
        elif op in ("relu", "mul", "copy", "gelu"):
            points = [{"n": n} for n in sample(ladders["elements"], 2**27)]
        else:
            continue
        for point in points:
            if not smallest_of_layout(op, rest, point):
                continue
            checked += 1
            found = covering(ladders, list_, point)
            want = wanted(ladders, fields, op, dtypes, point)
            if found != want and bad < 10:
                bad += 1
                print(op, dtypes, rest, point, "found", found, "wanted", want)
    print(checked, "points")
    return bad == 0 and checked > 5000


def calls(spec, n):
    """Lines `call<TAB>key` for kiln explain: sizes off the census."""
    ladders, fields = read_spec(spec)
    census = {size for key in keys() for size in split(key)[4].values()}
    while n > 0:
        rows = random.choice(sample(ladders["rows"], 2**14))
        cols = random.choice(sample(ladders["cols"], 2**18))
        edges = {top(ladders["rows"], rows), top(ladders["cols"], cols)}
        point = {"M": rows, "N": cols}
        variant = wanted(ladders, fields, "softmax", "f32", point)
        if variant and not (census - edges) & {rows, cols}:
            n -= 1
            print("softmax x=f32[%d,%d]\tsoftmax/%s f32 log=0 contiguous "
                  "M=%d N=%d" % (rows, cols, variant[0],
                                 top(ladders["rows"], rows),
                                 top(ladders["cols"], cols)))
    return True


random.seed(7)
COMMANDS = {"counts": counts, "ladders": ladders_hold,
            "calls": lambda spec, n: calls(spec, int(n))}
sys.exit(0 if COMMANDS[sys.argv[1]](*sys.argv[2:]) else 1)
