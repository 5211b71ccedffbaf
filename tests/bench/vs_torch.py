#!/usr/bin/env python3
"""Times kiln's CUDA kernels against PyTorch on one GPU, in one process.

    python3 tests/bench/vs_torch.py [--lib build/libkiln.so] [--rounds 15]

Each arm is a captured graph of its calls: kiln, PyTorch eager, torch.compile,
and a copy of the same bytes. Arms take turns in every round; a figure is the
median over rounds, a ratio the peer's median over kiln's. All arms use the
same buffers, which stay as warm as the L2 (60 MB) lets them: a set of less is
said to be warm.

Prints Markdown. Exit status: 1 when a row is missing, wrong against PyTorch in
double, or misses its bar.
"""
import argparse
import ctypes
import math
import os
import statistics
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kiln import CUDA, Kiln  # noqa: E402

F = torch.nn.functional
CEILING = 4.35e12          # bytes a second, read and write
L2 = 60e6
SOFTMAX = ((4096, 4096), (32768, 1024), (8192, 32768), (64, 151936),
           (1024, 151936))
LARGE, SMALL = 1 << 28, (1024, 65536)
HALVES, FLOAT = (torch.float16, torch.bfloat16), torch.float32

OPS = {
    "softmax": (1, lambda x: torch.softmax(x, -1)),
    "add": (2, torch.add),
    "gelu": (1, F.gelu),
    "silu": (1, F.silu),
}


def rows():
    """(op, dtype, shape): the committed list."""
    for shape in SOFTMAX:
        for dtype in HALVES + (FLOAT,):
            yield "softmax", dtype, shape
    for op in ("add", "gelu", "silu"):
        for dtype in (torch.float16, FLOAT):
            for n in (LARGE,) + SMALL:
                yield op, dtype, (n,)


def graph_of(call, repeats):
    """A captured graph of so many calls of call(stream)."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call(side.cuda_stream)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call(torch.cuda.current_stream().cuda_stream)
    return graph


def time_of(graph, repeats):
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / repeats


def check(ours, ins, function):
    """None, or what is wrong. Large tensors by their first and last rows."""
    pieces = [slice(None)]
    if ours.numel() > 1 << 26:
        pieces = [slice(0, 1024), slice(-1024, None)]
    atol, rtol = {torch.float16: (1e-6, 2e-3), torch.bfloat16: (1e-6, 2e-2),
                  FLOAT: (1e-6, 2e-5)}[ours.dtype]
    for piece in pieces:
        wanted = function(*[x[piece].double() for x in ins])
        if not torch.allclose(ours[piece].double(), wanted, rtol=rtol,
                              atol=atol):
            return "differs from PyTorch in double"
    return None


def build_copy():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "copy.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "copy.cu")
    subprocess.run(["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler",
                    "-fPIC", "-o", path, source], check=True)
    lib = ctypes.CDLL(path)
    lib.bench_copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                               ctypes.c_long, ctypes.c_void_p]
    lib.bench_launches.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                                   ctypes.c_int, ctypes.c_void_p]
    return lib


def arms_of(kiln, copy, op, dtype, shape):
    count, function = OPS[op]
    torch.manual_seed(1)
    ins = [torch.randn(shape, dtype=dtype, device="cuda")
           for _ in range(count)]
    out = torch.empty(shape, dtype=dtype, device="cuda")
    run = kiln.plan(op, *ins, out)
    out.fill_(float("nan"))
    run(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    wrong = check(out, ins, function)
    if wrong:
        raise RuntimeError(wrong)
    compiled = torch.compile(function, dynamic=False)
    total = (count + 1) * out.numel() * out.element_size()
    half = total // 2 // 16 * 16
    source = torch.empty(half, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    arms = {
        "kiln": run,
        "eager": lambda _: function(*ins),
        "compile": lambda _: compiled(*ins),
        "copy": lambda s: copy.bench_copy(source.data_ptr(),
                                          target.data_ptr(), half, s),
    }
    return arms, run.kernel, total, (ins, out, source, target)


def measure(kiln, copy, op, dtype, shape, rounds):
    arms, kernel, total, alive = arms_of(kiln, copy, op, dtype, shape)
    repeats = max(1, min(100, round(400e-6 / (total / CEILING + 2e-6))))
    graphs = {name: graph_of(arm, repeats) for name, arm in arms.items()}
    times = {name: [] for name in arms}
    for graph in graphs.values():
        graph.replay()
    order = list(graphs)
    for r in range(rounds):
        for name in order if r % 2 == 0 else order[::-1]:
            times[name].append(time_of(graphs[name], repeats))
    del alive
    return {n: statistics.median(t) for n, t in times.items()}, kernel, total


def bars_of(op, shape, total, us):
    """The bars of a row that it misses."""
    peer = min(us["eager"], us["compile"])
    ratio, missed = peer / us["kiln"], []
    if op == "softmax":
        fast_peer = total / (peer * 1e-6) > 0.95 * CEILING
        if ratio < (0.98 if fast_peer else 1.0):
            missed.append(f"{ratio:.3f}x the peer")
        share = total / (us["kiln"] * 1e-6) / CEILING
        if total > 256e6 and share < 0.9:
            missed.append(f"{share:.3f} of 4.35 TB/s")
    elif shape[0] == LARGE:
        if ratio < 0.98:
            missed.append(f"{ratio:.3f}x the peer")
        if us["copy"] / us["kiln"] < 0.95:
            missed.append(f"{us['copy'] / us['kiln']:.3f} of the copy's rate")
    elif us["kiln"] > 1.05 * us["copy"]:
        missed.append(f"{us['kiln'] / us['copy']:.3f}x the copy")
    return ratio, missed


def launch_cost(kiln, copy):
    """Host microseconds of an enqueue above a bare launch, medians."""
    import time
    x = torch.zeros(1024, device="cuda")
    y = torch.empty_like(x)
    run = kiln.plan("silu", x, y)
    stream = torch.cuda.current_stream().cuda_stream
    ours, bare = [], []
    for _ in range(15):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            run(stream)
        ours.append((time.perf_counter() - begin) / 200)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            copy.bench_launches(x.data_ptr(), y.data_ptr(), 1, stream)
        bare.append((time.perf_counter() - begin) / 200)
    return statistics.median(ours) * 1e6, statistics.median(bare) * 1e6


def head(kiln):
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=False).stdout.strip()
    nvcc = subprocess.run(["nvcc", "--version"], capture_output=True,
                          text=True, check=False).stdout.splitlines()[-1]
    print(f"{torch.cuda.get_device_name()}, driver {driver}, {nvcc}, PyTorch "
          f"{torch.__version__}; microseconds, medians\n")
    print("| op | dtype | shape | buffers | kiln | eager | compile | copy | "
          "peer / kiln | of 4.35 TB/s | kernel |")
    print("|" + " --- |" * 11)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", default="build/libkiln.so")
    p.add_argument("--rounds", type=int, default=15)
    a = p.parse_args()
    kiln, copy = Kiln(a.lib, CUDA), build_copy()
    head(kiln)
    failed, logs = [], []
    for op, dtype, shape in rows():
        name = f"{op} {str(dtype)[6:]} {'x'.join(map(str, shape))}"
        try:
            us, kernel, total = measure(kiln, copy, op, dtype, shape, a.rounds)
        except RuntimeError as e:
            failed.append(f"{name}: {e}")
            continue
        finally:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
        ratio, missed = bars_of(op, shape, total, us)
        failed += [f"{name}: {m}" for m in missed]
        if op == "softmax":
            logs.append(math.log(ratio))
        cells = [op, str(dtype)[6:], "x".join(map(str, shape)),
                 "warm" if total < L2 else "past the L2"]
        cells += [f"{us[n]:.2f}" for n in ("kiln", "eager", "compile", "copy")]
        cells += [f"{ratio:.2f}",
                  f"{total / (us['kiln'] * 1e-6) / CEILING:.2f}", f"`{kernel}`"]
        print("| " + " | ".join(cells) + " |", flush=True)
    mean = math.exp(sum(logs) / len(logs)) if logs else 0
    ours, bare = launch_cost(kiln, copy)
    print(f"\nsoftmax: geometric mean {mean:.2f}x the faster peer.\n"
          f"enqueue through ctypes {ours:.2f} us, a bare launch through "
          f"ctypes {bare:.2f} us.")
    if mean < 1.4:
        failed.append(f"softmax: geometric mean {mean:.3f}")
    for line in failed:
        print(f"missed: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
