#!/usr/bin/env python3
"""Times kiln's cpu tier against PyTorch, interleaved in one process.

    python3 tests/bench/vs_torch_cpu.py [--lib build/libkiln.so]
        [--rounds 41] [--bar 1.0] [--only softmax] [--isa avx2]
        [--config lanes=32]

Where other work runs beside it, start it under `chrt -f 5`: else one thread of
either arm may wait for a processor while the other has its own.

Prints a Markdown table, a row a call: medians over rounds, and ratio =
PyTorch's time over kiln's (above 1: kiln is faster), the median of the
ratios of the rounds. Both write into a tensor that is already there. Each
sample is the mean of a few calls after an untimed one; a pause before it lets
the other library's threads, which spin for a while, go to sleep. The calls
fill no cache: all are larger than 32 MiB.

Exit status: 1 when a row is missing or wrong (against PyTorch in double), or
its ratio on two threads is below --bar; else 0. Without --bar speed is not
judged.
"""
import argparse
import os
import platform
import statistics
import sys
import time
import warnings

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kiln import Kiln  # noqa: E402

THREADS = (1, 2)
SHAPES = ((4096, 4096), (64, 151936))
PAUSE_S = 0.02
SAMPLE_S = 0.03

OPS = {
    "softmax": {
        "out": lambda x, y: torch.softmax(x, -1, out=y),
        "value": lambda x: torch.softmax(x, -1),
    },
    "silu": {
        "out": lambda x, y: torch.ops.aten.silu.out(x, out=y),
        "value": torch.nn.functional.silu,
    },
}


# --- measuring --------------------------------------------------------------

def mean_seconds(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def sample(run, calls):
    time.sleep(PAUSE_S)
    run()
    return mean_seconds(run, calls)


def judge(op, x, ours, theirs):
    """What is wrong with ours, or None."""
    truth = OPS[op]["value"](x.double())
    if not torch.allclose(ours.double(), truth, rtol=1e-6, atol=1e-12):
        worst = ((ours.double() - truth).abs() / truth.abs()).max().item()
        return f"kiln is off by {worst:.2g}"
    if not torch.allclose(ours, theirs, rtol=1e-5, atol=1e-10):
        return "kiln and PyTorch differ"
    return None


def measure(kilns, op, shape, rounds):
    """Median milliseconds and ratios by threads."""
    torch.manual_seed(1)
    x = torch.randn(shape)
    ours, theirs = torch.empty(shape), torch.empty(shape)
    runs = {n: kilns[n].plan(op, x, ours) for n in THREADS}

    def library():
        OPS[op]["out"](x, theirs)
    library()
    bits = []
    for n in THREADS:
        ours.fill_(float("nan"))
        runs[n]()
        wrong = judge(op, x, ours, theirs)
        if wrong:
            raise RuntimeError(f"{wrong} ({n} threads)")
        bits.append(ours.clone())
    if not all(torch.equal(bits[0], b) for b in bits):
        raise RuntimeError("kiln's bits depend on the number of threads")
    calls = max(1, round(SAMPLE_S / mean_seconds(runs[2], 1)))
    times = {n: ([], []) for n in THREADS}
    for r in range(rounds):
        for n in THREADS:
            torch.set_num_threads(n)
            arms = [(0, runs[n]), (1, library)]
            for arm, run in arms if r % 2 == 0 else arms[::-1]:
                times[n][arm].append(sample(run, calls))
    out = {"kernel": runs[2].kernel}
    for n, (k, t) in times.items():
        out[n] = (statistics.median(k) * 1e3, statistics.median(t) * 1e3,
                  statistics.median(b / a for a, b in zip(k, t)))
    return out


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def row(op, shape, m):
    cells = [op, "×".join(map(str, shape)), "f32"]
    for n in THREADS:
        cells += [f"{m[n][0]:.2f}", f"{m[n][1]:.2f}", f"{m[n][2]:.2f}"]
    print("| " + " | ".join(cells + [f"`{m['kernel']}`"]) + " |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", default="build/libkiln.so")
    p.add_argument("--rounds", type=int, default=41)
    p.add_argument("--only", choices=sorted(OPS))
    p.add_argument("--bar", type=float)
    p.add_argument("--isa")
    p.add_argument("--config")
    a = p.parse_args()
    warnings.filterwarnings("ignore", message=".*NumPy.*")
    kilns = {n: Kiln(a.lib, threads=n, isa=a.isa, config=a.config)
             for n in THREADS}
    print(f"{processor()}, PyTorch {torch.__version__} "
          f"({torch.backends.cpu.get_cpu_capability()}), milliseconds\n")
    heads = ["op", "shape", "type"]
    for n in THREADS:
        heads += [f"kiln, {n} thr.", f"torch, {n} thr.", f"ratio, {n} thr."]
    print("| " + " | ".join(heads + ["kernel"]) + " |")
    print("|" + " --- |" * (len(heads) + 1))
    failed = False
    for op in [a.only] if a.only else OPS:
        for shape in SHAPES:
            try:
                m = measure(kilns, op, shape, a.rounds)
            except RuntimeError as e:
                print(f"{op} {shape}: {e}", file=sys.stderr)
                failed = True
                continue
            row(op, shape, m)
            if a.bar and m[2][2] < a.bar:
                print(f"{op} {shape}: below {a.bar}", file=sys.stderr)
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
