#!/usr/bin/env python3
"""A program of PyTorch that does the same in every run: products in bf16, softmax and copies of seeded numbers.

    torch_program.py [--profile TRACE] [--steps N] [--inside N]

bench/gpu/check_attach.cpp starts it, alone, under `spscope attach`, and with --profile under torch.profiler, whose trace
goes to the file TRACE. With --inside N steps N to 2 N - 1 are between cudaProfilerStart and cudaProfilerStop. Prints one
line of JSON: {"checksum": of all results, "ranges": how many of NVTX, each named as no other, "versions": ...}, with
--profile also "kernels": [[name, count, nanoseconds], ...], or {"missing": why this cannot run here}. CUDA is started
inside of what is profiled, so that both ways see all of it.
"""
import argparse
import hashlib
import json
import os
import sys
from collections import defaultdict

SIZE = 4096
EVERY = 100  # of steps: those with a checksum and a range of NVTX


class NoGpu(Exception):
    pass


def start_cuda(torch):
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:  # a broken installation fails in many ways
        raise NoGpu(error) from error


def work(torch, steps, inside=0):
    """A checksum of the results, once all of it has ended."""

    def bits(tensor):
        """The sum of all numbers' bits, each times its place, so that none may change or move."""
        on_host = tensor.cpu().view(torch.int16).flatten().to(torch.int64)
        return int((on_host * torch.arange(1, len(on_host) + 1)).sum())

    start_cuda(torch)
    torch.use_deterministic_algorithms(True)
    # Made on the host, where the generator is the same everywhere.
    generator = torch.Generator().manual_seed(18)
    x, w = (torch.randn(SIZE, SIZE, generator=generator).to("cuda", torch.bfloat16) for _ in range(2))
    results = []
    for step in range(steps):
        if inside and step in (inside, 2 * inside):
            torch.cuda.synchronize()
            (torch.cuda.profiler.start if step == inside else torch.cuda.profiler.stop)()
        if step % EVERY == 0:
            torch.cuda.nvtx.range_push(f"torch_program step {step}")
        x = torch.softmax(x @ w, dim=-1)
        x = (x - x.mean(dim=-1, keepdim=True)) * SIZE
        if step % EVERY == 0:
            torch.cuda.nvtx.range_pop()
            results.append(bits(x[:16]))
    results.append(bits(x))
    torch.cuda.synchronize()
    return hashlib.sha256(repr(results).encode()).hexdigest()


def kernels_of(trace):
    """By name: how many, and their nanoseconds together. Times of a trace are microseconds."""
    counts, sums = defaultdict(int), defaultdict(float)
    with open(trace, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") == "kernel":
                counts[event["name"]] += 1
                sums[event["name"]] += event["dur"] * 1000
    return [[name, counts[name], round(sums[name])] for name in sorted(counts)]


def profiled(torch, trace, steps):
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        checksum = work(torch, steps)
    profiler.export_chrome_trace(trace)
    return checksum, kernels_of(trace)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--inside", type=int, default=0)
    arguments = parser.parse_args()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # deterministic, and read when CUDA starts
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways
        return {"missing": f"{sys.executable} has no PyTorch ({error})"}
    answer = {}
    try:
        if arguments.profile:
            answer["checksum"], answer["kernels"] = profiled(torch, arguments.profile, arguments.steps)
        else:
            answer["checksum"] = work(torch, arguments.steps, arguments.inside)
    except NoGpu as error:
        return {"missing": f"PyTorch {torch.__version__} has no GPU: {error}"}
    answer["ranges"] = len(range(0, arguments.steps, EVERY))
    return answer | {"versions": f"torch {torch.__version__}, CUDA {torch.version.cuda}"}


if __name__ == "__main__":
    print(json.dumps(main()))
