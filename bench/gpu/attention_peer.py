#!/usr/bin/env python3
"""FlashAttention-2 and cuDNN of PyTorch, in turn with a kernel of spscope on the same GPU (bench/gpu/peer.h starts it).

    attention_peer.py HEADS TOKENS HEAD_DIM

Prints one line of JSON: {"versions": ..., "backends": [...], "without": why others are missing}, or {"missing": why
there is no peer}. Then answers each line of its input, which names a backend, with {"ms": median time of one dense
forward pass in bf16, batch 1, between two events of the device}, of passes back to back after a warm-up by time, as
bench/gpu/rank_alone.h does on the other side.
"""
import json
import statistics
import sys
import time

WARMUP_S, LAUNCHES = 0.2, 8
BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION")


def say(**answer):
    print(json.dumps(answer), flush=True)


def make_attention(torch, name, heads, tokens, head_dim):
    """Raises an exception where PyTorch has no such kernel for this device and shape."""
    import torch.nn.functional as functional
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(1, heads, tokens, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def attend():
        with sdpa_kernel(getattr(SDPBackend, name)):
            return functional.scaled_dot_product_attention(q, k, v)

    attend()
    torch.cuda.synchronize()
    return attend


def median_ms(torch, attend):
    end = time.monotonic() + WARMUP_S
    while True:
        attend()
        torch.cuda.synchronize()
        if time.monotonic() >= end:
            break
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(LAUNCHES)]
    for begin, end in events:
        begin.record()
        attend()
        end.record()
    torch.cuda.synchronize()
    return statistics.median_low(begin.elapsed_time(end) for begin, end in events)


def main():
    heads, tokens, head_dim = map(int, sys.argv[1:4])
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways
        return say(missing=f"{sys.executable} has no PyTorch ({error})")
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:
        return say(missing=f"PyTorch {torch.__version__} has no GPU: {error}")
    attention, without = {}, []
    for name in BACKENDS:
        try:
            attention[name] = make_attention(torch, name, heads, tokens, head_dim)
        except Exception as error:
            without.append(f"{name}: {error}")
    if not attention:
        return say(missing=f"PyTorch {torch.__version__} has no kernel here: {'; '.join(without)}")
    say(versions=f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, "
                 f"{torch.cuda.get_device_name()}", backends=list(attention), without="; ".join(without))
    for line in sys.stdin:
        say(ms=median_ms(torch, attention[line.strip()]))


if __name__ == "__main__":
    main()
