#!/usr/bin/env python3
"""Attention of PyTorch, in turn with a kernel of spscope on the same GPU (bench/gpu/peer.h starts it).

    attention_peer.py HEADS TOKENS HEAD_DIM                      FlashAttention-2 and cuDNN, dense
    attention_peer.py HEADS TOKENS HEAD_DIM BLOCK MASK...        FlexAttention with each mask: the backends 0, 1, ...

A MASK is a file with a byte for each head, block of queries and block of keys: 1 where the one attends to the other. It prints one line of JSON: {"versions": ..., "backends": [...], "without": why others are missing}, or {"missing": why
there is no peer}. Then it answers each line of its input, which names a backend, with {"ms": median time of one
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


def make_flex(torch, path, heads, tokens, head_dim, block):
    """The same with whole blocks. Raises an exception as above."""
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    blocks = -(-tokens // block)
    with open(path, "rb") as file:
        active = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(1, heads, blocks, blocks).cuda()
    counts = active.sum(-1, dtype=torch.int32)
    order = active.argsort(-1, descending=True, stable=True).to(torch.int32)
    mask = BlockMask.from_kv_blocks(torch.zeros_like(counts), order, counts, order, BLOCK_SIZE=block)
    # Its tiles may not be longer than a block.
    tile = {"BLOCK_M": block, "BLOCK_N": block} if block < 128 else None
    compiled = torch.compile(flex_attention, dynamic=False)
    q, k, v = (torch.randn(1, heads, tokens, head_dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def attend():
        return compiled(q, k, v, block_mask=mask, kernel_options=tile)

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
    heads, tokens, head_dim, *block = map(int, sys.argv[1:5])
    masks = sys.argv[5:]
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways
        return say(missing=f"{sys.executable} has no PyTorch ({error})")
    try:
        torch.zeros(1, device="cuda")
    except Exception as error:
        return say(missing=f"PyTorch {torch.__version__} has no GPU: {error}")
    attention, without = {}, []
    for name in map(str, range(len(masks))) if masks else BACKENDS:
        try:
            if masks:
                attention[name] = make_flex(torch, masks[int(name)], heads, tokens, head_dim, *block)
            else:
                attention[name] = make_attention(torch, name, heads, tokens, head_dim)
        except Exception as error:
            without.append(f"{'FlexAttention' if masks else name}: {error}")
            if masks:  # the others would not do either
                break
    if not attention:
        return say(missing=f"PyTorch {torch.__version__} has no kernel here: {'; '.join(without)}")
    say(versions=f"torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, "
                 f"{torch.cuda.get_device_name()}", backends=list(attention), without="; ".join(without))
    for line in sys.stdin:
        say(ms=median_ms(torch, attention[line.strip()]))


if __name__ == "__main__":
    main()
