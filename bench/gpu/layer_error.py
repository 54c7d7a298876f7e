#!/usr/bin/env python3
"""Errors of two bf16 attentions on the same input: spscope's output, from files, and PyTorch's.

    layer_error.py FOLDER HEADS TOKENS HEAD_DIM [DEVICE]

FOLDER has q, k, v and o as NAME.bf16, [HEADS, TOKENS, HEAD_DIM]. Both are compared with attention in float64 over rows
spread evenly over all tokens, of every head. Prints one line of JSON: relative root mean square errors (root of
sum (x - ref)^2 / sum ref^2) and the largest absolute ones, or {"missing": why PyTorch cannot be asked}.
"""
import json
import sys
from pathlib import Path

ROWS = 256  # of each head


def load(torch, folder, name, shape, device):
    data = bytearray((Path(folder) / f"{name}.bf16").read_bytes())
    return torch.frombuffer(data, dtype=torch.bfloat16).reshape(shape).to(device)


def exact(torch, q, k, v):
    """Of one head, in float64."""
    q, k, v = (x.to(torch.float64) for x in (q, k, v))
    return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, dim=-1) @ v


def errors(torch, q, k, v, outputs):
    """By output: relative root mean square error and largest absolute error over sampled rows."""
    heads, tokens, _ = q.shape
    rows = torch.linspace(0, tokens - 1, min(ROWS, tokens), device=q.device).round().long()
    squared, reference, largest = [0.0] * len(outputs), 0.0, [0.0] * len(outputs)
    for head in range(heads):
        expected = exact(torch, q[head, rows], k[head], v[head])
        reference += expected.square().sum().item()
        for i, output in enumerate(outputs):
            difference = output[head, rows].to(torch.float64) - expected
            squared[i] += difference.square().sum().item()
            largest[i] = max(largest[i], difference.abs().max().item())
    return [(s / reference) ** 0.5 for s in squared], largest


def attention(torch, q, k, v):
    """PyTorch's, and the name of its backend: FlashAttention on a GPU, which PyTorch would not choose everywhere."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = SDPBackend.FLASH_ATTENTION if q.is_cuda else SDPBackend.MATH
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0], backend.name


def main():
    folder, heads, tokens, head_dim = sys.argv[1], *map(int, sys.argv[2:5])
    device = sys.argv[5] if len(sys.argv) > 5 else "cuda"
    try:
        import torch
    except Exception as error:  # a broken installation fails in many ways
        return {"missing": f"{sys.executable} has no PyTorch ({error})"}
    try:
        if device == "cuda":
            torch.zeros(1, device=device)
    except Exception as error:
        return {"missing": f"PyTorch {torch.__version__} has no GPU: {error}"}
    q, k, v, ours = (load(torch, folder, name, (heads, tokens, head_dim), device) for name in "qkvo")
    theirs, backend = attention(torch, q, k, v)
    rms, largest = errors(torch, q, k, v, [ours, theirs])
    return {"ours_rms": rms[0], "torch_rms": rms[1], "ours_largest": largest[0], "torch_largest": largest[1],
            "versions": f"torch {torch.__version__}, CUDA {torch.version.cuda}, backend {backend}, {device}"}


if __name__ == "__main__":
    print(json.dumps(main()))
