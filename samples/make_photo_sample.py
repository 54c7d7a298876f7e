#!/usr/bin/env python3
"""Makes the photo sample: Q, K and V of one attention layer over a small video panned from two photographs.

    python3 -m venv build/sample-venv
    build/sample-venv/bin/pip install scikit-image==0.26.0
    build/sample-venv/bin/python samples/make_photo_sample.py

The scikit-image wheel ships the photographs. Four frames (two of each photograph, the camera moving one patch to the
right in between) are cut into patches of 16 x 16 pixels; a patch is one token. Each head projects the patch's content
with fixed random matrices and adds rotating position terms; its gains decide how far and how sharply it looks, so that
heads end up with very different block masks, as they do in trained models. The mask beside the activations is the one
that SpargeAttention would select, computed here from the rounded values, independently of spscope.

The result is the same bits on every machine: the photographs are checked by hash, random numbers come from numpy's
frozen RandomState, sums avoid BLAS, and values are rounded to bfloat16. Files and their SHA-256 are printed.
"""
import hashlib
import importlib.util
import json
import pathlib
import struct

import numpy as np
from PIL import Image

FRAMES, HEIGHT, WIDTH = 4, 18, 22  # the token grid
PATCH = 16                         # pixels
HEAD_DIM = 16                      # 10 of content, 6 of position
CONTENT = 10
BLOCK = 32                         # tokens a block of the mask
CDF, SIMILARITY = 0.9, 0.1         # of SpargeAttention, as db-SP (thu-nics/db-SP f13ced5, 2025-12) sets them
PHOTOS = {
    "coffee.png": "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
    "chelsea.png": "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
}
# Each head: gain of content, gains of position along frame, y and x (all are logits at the best match).
HEADS = [
    (9.0, 3.0, 16.0, 16.0),  # near neighbours in the same few frames
    (7.0, 0.0, 2.0, 7.0),    # columns, in all frames
    (5.0, 6.0, 9.0, 2.0),    # rows of the picture
    (14.0, 1.0, 2.0, 2.0),   # the same content wherever it is
    (4.0, 0.5, 2.5, 1.5),    # almost everything
    (22.0, 2.0, 4.0, 4.0),   # the same content, sharply
    (4.0, 9.0, 3.0, 3.0),    # its own frame
    (3.0, 2.0, 22.0, 8.0),   # a narrow band of rows
]


def photograph(name):
    """Pixels [height, width, 3] of a photograph in the scikit-image wheel, 0 to 1."""
    package = pathlib.Path(importlib.util.find_spec("skimage").origin).parent
    path = package / "data" / name
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != PHOTOS[name]:
        raise SystemExit(f"{path} has the hash {found}, not {PHOTOS[name]}: install scikit-image 0.26.0")
    return np.asarray(Image.open(path).convert("RGB"), dtype=np.float64) / 255


def frames():
    """Pixels [frames, HEIGHT * PATCH, WIDTH * PATCH, 3]."""
    result = []
    for name in PHOTOS:
        photo = photograph(name)
        top = (photo.shape[0] - HEIGHT * PATCH) // 2
        for left in (PATCH, 2 * PATCH):
            result.append(photo[top:top + HEIGHT * PATCH, left:left + WIDTH * PATCH])
    return np.stack(result)


def patch_features(pixels):
    """Standardised features of the patch of each token: [tokens, 25]: 4 x 4 grey cells, colours, contrast."""
    f, h, w = FRAMES, HEIGHT, WIDTH
    patches = pixels.reshape(f, h, PATCH, w, PATCH, 3).transpose(0, 1, 3, 2, 4, 5).reshape(f * h * w, PATCH, PATCH, 3)
    grey = patches.mean(axis=3)
    cells = grey.reshape(-1, 4, 4, 4, 4).mean(axis=(2, 4)).reshape(-1, 16)
    colour = patches.mean(axis=(1, 2))
    spread = patches.std(axis=(1, 2))
    slope = np.abs(np.diff(grey, axis=1)).mean(axis=(1, 2))
    features = np.concatenate([cells, 3 * colour, colour[:, :2] - colour[:, 1:], spread, slope[:, None]], axis=1)
    return (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)


def position_terms():
    """[tokens, 3, 2]: cosine and sine along frame, y and x; products fall with the distance."""
    axes = np.meshgrid(np.arange(FRAMES), np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")
    angles = np.stack([a.ravel() * np.pi / n for a, n in zip(axes, (FRAMES, HEIGHT, WIDTH))], axis=1)
    return np.stack([np.cos(angles), np.sin(angles)], axis=2)


def times(a, b):
    """Matrix product in a fixed order of sums; BLAS differs from machine to machine."""
    return np.einsum("ij,jk->ik", a, b, optimize=False)


def activations():
    """q, k, v, each [heads, tokens, HEAD_DIM]."""
    features, position = patch_features(frames()), position_terms()
    random = np.random.RandomState(20260301)
    scale = np.sqrt(HEAD_DIM)  # undone by the 1 / sqrt(head_dim) of attention
    q, k, v = [], [], []
    for content_gain, *position_gains in HEADS:
        shared = random.standard_normal((features.shape[1], CONTENT))
        parts = {}
        for side in "qk":
            content = times(features, shared + 0.5 * random.standard_normal(shared.shape))
            content /= np.sqrt((content ** 2).sum(axis=1, keepdims=True))
            terms = position * np.sqrt(np.array(position_gains) * scale)[None, :, None]
            parts[side] = np.concatenate([content * np.sqrt(content_gain * scale), terms.reshape(-1, 6)], axis=1)
        q.append(parts["q"])
        k.append(parts["k"])
        v.append(times(features, random.standard_normal((features.shape[1], HEAD_DIM))) / np.sqrt(features.shape[1]))
    return [round_to_bf16(np.stack(x)) for x in (q, k, v)]


def round_to_bf16(values):
    """float32 with the precision of bfloat16: nearest, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def block_means(tokens):
    """Means [blocks, dim] and, by block, whether its tokens point the same way."""
    means, similar = [], []
    for begin in range(0, len(tokens), BLOCK):
        block = tokens[begin:begin + BLOCK].astype(np.float64)
        unit = block / np.sqrt((block ** 2).sum(axis=1, keepdims=True))
        means.append(block.mean(axis=0))
        similar.append(times(unit, unit.T).mean() > SIMILARITY)
    return np.stack(means), np.array(similar)


def sparge_mask(q, k):
    """uint8 [heads, blocks, blocks]."""
    masks = []
    for head_q, head_k in zip(q, k):
        (mean_q, similar_q), (mean_k, similar_k) = block_means(head_q), block_means(head_k)
        scores = times(mean_q, mean_k.T) / np.sqrt(HEAD_DIM)
        weights = np.where(similar_k, np.exp(scores - scores.max(axis=1, keepdims=True)), 0)
        mask = np.zeros(weights.shape, np.uint8)
        for i, row in enumerate(weights):
            order = np.argsort(-row, kind="stable")
            needed = np.searchsorted(np.cumsum(row[order]), CDF * row.sum()) + 1
            mask[i, order[:needed]] = 1
        mask[:, ~similar_k] = 1
        mask[~similar_q] = 1
        masks.append(mask)
    return np.stack(masks)


def write_safetensors(path, arrays):
    """bfloat16 tensors; the header is padded so that the data begins at a multiple of 8 bytes."""
    header, data = {}, b""
    for name, values in arrays.items():
        part = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
        offsets = [len(data), len(data) + len(part)]
        header[name] = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": offsets}
        data += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    folder = pathlib.Path(__file__).parent
    q, k, v = activations()
    mask = sparge_mask(q, k)
    write_safetensors(folder / "photo_qkv.safetensors", {"q": q, "k": k, "v": v})
    np.save(folder / "photo_mask.npy", mask)
    heads = mask.mean(axis=(1, 2))
    ranks = heads.reshape(4, -1).sum(axis=1)
    print(f"density {mask.mean():.3f}, by head {np.round(heads, 2)}")
    print(f"imbalance of 4 ranks {ranks.max() / ranks.mean():.3f}")
    for name in ("photo_qkv.safetensors", "photo_mask.npy"):
        content = (folder / name).read_bytes()
        print(f"{hashlib.sha256(content).hexdigest()}  {name}  {len(content)} bytes")


if __name__ == "__main__":
    main()
