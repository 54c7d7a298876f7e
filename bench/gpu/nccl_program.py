#!/usr/bin/env python3
"""Two ranks that add up numbers with NCCL, on one GPU.

    nccl_program.py [--sums N]

bench/gpu/check_attach.cpp starts it under `spscope attach`. NCCL refuses two ranks on one GPU of one host, so each rank
says that it is a host of its own (NCCL_HOSTID), and they reach each other by sockets. Prints one line of JSON:
{"sums": of each rank, "bytes": of each sum, "versions": ...}, or {"missing": why this cannot run here}.
"""
import argparse
import json
import os
import socket
import subprocess
import sys

RANKS, NUMBERS = 2, 1 << 20
TIMEOUT_S = 120


def rank_main(sums):
    """Exit code 0: every sum was right."""
    import torch
    import torch.distributed as distributed

    rank = int(os.environ["RANK"])
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl")
    for step in range(sums):
        numbers = torch.full((NUMBERS,), float(rank + step), device="cuda")
        distributed.all_reduce(numbers)
        if not bool((numbers == float(sum(range(RANKS)) + RANKS * step)).all()):
            raise SystemExit(f"rank {rank}: the sum of step {step} is wrong")
    torch.cuda.synchronize()
    distributed.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(rank, port, sums):
    environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK="0", MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port), NCCL_HOSTID=f"rank{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
    environment.setdefault("NCCL_DEBUG", "WARN")
    # What NCCL says is read where the checks keep it: stderr.
    return subprocess.Popen([sys.executable, __file__, "--rank", "--sums", str(sums)], env=environment, stdout=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sums", type=int, default=20)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        return rank_main(arguments.sums)
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways
        return {"missing": f"{sys.executable} has no PyTorch ({error})"}
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:
        return {"missing": f"PyTorch {torch.__version__} has no GPU: {error}"}
    import torch.distributed as distributed

    if not distributed.is_available() or not distributed.is_nccl_available():
        return {"missing": f"PyTorch {torch.__version__} has no NCCL"}
    version = torch.cuda.nccl.version()
    versions = f"torch {torch.__version__}, NCCL {'.'.join(map(str, version))}"
    if version < (2, 26):
        return {"missing": f"{versions}: the profiler plugin needs NCCL 2.26 or newer"}
    port = free_port()
    ranks = [start(rank, port, arguments.sums) for rank in range(RANKS)]
    try:
        codes = [rank.wait(timeout=TIMEOUT_S) for rank in ranks]
    finally:
        for rank in ranks:  # that wait for one that has failed
            rank.kill()
    if any(codes):
        raise SystemExit(f"the ranks ended with {codes}")
    return {"sums": arguments.sums, "bytes": 4 * NUMBERS, "versions": versions}


if __name__ == "__main__":
    said = main()
    if said is not None:
        print(json.dumps(said))
