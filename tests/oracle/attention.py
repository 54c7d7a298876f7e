"""Block-sparse attention in double precision, from the files of `run --dump` alone."""
import json

import numpy as np

from masks import Mask

TOLERANCE = {"fp32": 1e-10, "bf16": 5e-5}  # docs/metrics.md, "Check"; in fp32 more where scores are large
LEAST_SHARE_OF_MEAN = 0.01


def read_masks(folder):
    """{axis: Mask} of a dumped layer."""
    found = {}
    for axis, suffix in (("inner", ""), ("outer", "_temporal")):
        if (folder / f"mask{suffix}.npy").exists():
            found[axis] = Mask(np.load(folder / f"mask{suffix}.npy"), np.load(folder / f"block_starts{suffix}.npy"))
    return found


def softmax_attention(q, k, v, active):
    """[rows, dim] of one head of one sequence; rows without an active key are 0."""
    scores = np.where(active, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights @ v, total, out=np.zeros((len(q), v.shape[1])), where=total > 0)


def attention(q, k, v, mask, outer, inner, axis):
    """Arrays [heads, outer x inner tokens, dim] of one sample."""
    shape = q.shape
    q, k, v = (x.astype(np.float64).reshape(shape[0], outer, inner, -1) for x in (q, k, v))
    out = np.zeros(q.shape[:3] + (v.shape[-1],))
    for head in range(shape[0]):
        active = mask.pairs(head)
        if axis == "inner":
            for s in range(outer):
                out[head, s] = softmax_attention(q[head, s], k[head, s], v[head, s], active)
        else:
            for s in range(inner):
                out[head, :, s] = softmax_attention(q[head, :, s], k[head, :, s], v[head, :, s], active)
    return out.reshape(shape[0], outer * inner, -1)


def largest_products(q, k, mask, outer, inner, axis):
    """Largest sum of absolute products of an active key and each row, scaled as its score: [heads, outer x inner tokens] of
    one sample; 0 without any."""
    heads = q.shape[0]
    q, k = (x.astype(np.float64).reshape(heads, outer, inner, -1) for x in (q, k))
    if axis == "outer":
        q, k = q.swapaxes(1, 2), k.swapaxes(1, 2)
    scores = np.einsum("hsqd,hskd->hsqk", np.abs(q), np.abs(k)) / np.sqrt(q.shape[-1])
    active = np.stack([mask.pairs(head) for head in range(heads)])[:, None]
    largest = np.where(active, scores, 0).max(axis=-1)
    return (largest.swapaxes(1, 2) if axis == "outer" else largest).reshape(heads, -1)


def limits(dtype, head_dim, products):
    """The tolerance of each row, by its largest sum of products: docs/metrics.md, "Check". No case here has a row that
    cannot be judged."""
    moved = (2.0 ** -24 * np.sqrt(head_dim) * products) ** 2
    assert moved.max() <= 2e-5
    return TOLERANCE[dtype] + (moved if dtype == "fp32" else 0 * moved)


def row_errors(true, found):
    """Squared error of each row over its square, or over a hundredth of the mean square where that is larger. Rows are
    the last axis of the arrays of both lists."""
    squares = np.concatenate([(t ** 2).sum(axis=-1).ravel() for t in true])
    errors = np.concatenate([((f.astype(np.float64) - t) ** 2).sum(axis=-1).ravel() for t, f in zip(true, found)])
    scale = np.maximum(squares, LEAST_SHARE_OF_MEAN * squares.mean())
    return np.divide(errors, scale, out=np.where(errors > 0, np.inf, 0.0), where=scale > 0)


def check(folder, workload, strategies):
    """{strategy: (largest error of a row, largest quotient of an error and its tolerance)} of a dumped layer of attention;
    a spatial-temporal one has two attentions."""
    samples = (lambda x: x if workload["batch"] > 1 else x[None])
    outer, inner, dtype = workload["outer_tokens"], workload["inner_tokens"], workload["dtype"]
    true, allowed, found = [], [], {strategy: [] for strategy in strategies}
    for axis, mask in read_masks(folder).items():
        suffix = "" if axis == "inner" else "_temporal"
        q, k, v = (samples(np.load(folder / f"{name}{suffix}.npy")) for name in "qkv")
        true.append(np.stack([attention(*qkv, mask, outer, inner, axis) for qkv in zip(q, k, v)]))
        products = np.stack([largest_products(*qk, mask, outer, inner, axis) for qk in zip(q, k)])
        allowed.append(limits(dtype, q.shape[-1], products).ravel())
        for strategy in strategies:
            found[strategy].append(samples(np.load(folder / f"o-{strategy}{suffix}.npy")))
    errors = {strategy: row_errors(true, outputs) for strategy, outputs in found.items()}
    return {strategy: (float(e.max()), float((e / np.concatenate(allowed)).max())) for strategy, e in errors.items()}


def read_layer(folder):
    return json.loads((folder / "layer.json").read_text("utf-8"))
