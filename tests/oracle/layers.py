"""Whole layers in double precision, from the files of `run --dump` alone, by the formulas of docs/layers.md.

`layers.py FOLDER [TOLERANCE]` compares every output of a whole layer below the folder, prints `STRATEGY ERROR` for each
strategy of each layer pass, and exits with 1 when an error is above the tolerance, by default that of docs/metrics.md, or
there is nothing to compare.
"""
import sys
from pathlib import Path

import numpy as np

from attention import read_layer, read_masks, row_errors, softmax_attention

EPSILON, THETA = 1e-6, 10000.0


def tolerance(dtype, rows, channels):
    """docs/metrics.md, "Check"."""
    return {"fp32": 1e-10, "bf16": 5e-4}[dtype] * min(100.0, rows ** (4 / channels))


class Weights:
    """The arrays of a folder `weights` by name, and which of them were asked for."""
    def __init__(self, folder):
        self.folder, self.read = folder, {}

    def __getitem__(self, name):
        if name not in self.read:
            self.read[name] = np.load(self.folder / f"{name}.npy").astype(np.float64)
        return self.read[name]

    def unread(self):
        return sorted({path.stem for path in self.folder.glob("*.npy")} - set(self.read))


class Layer:
    """One sample; `w` is layer.json."""
    def __init__(self, w, masks, weights, sample):
        self.w, self.masks, self.weights, self.sample = w, masks, weights, sample
        self.heads, self.dim, self.hidden = w["heads"], w["head_dim"], w["hidden"]
        self.outer, self.inner = w["outer_tokens"], w["inner_tokens"]
        first = 0 if w["text_first"] else self.inner - w["text_tokens"]
        self.is_text = np.zeros(self.inner, bool)
        self.is_text[first:first + w["text_tokens"]] = True

    # -- steps

    def linear(self, name, x):
        return x @ self.weights[name]

    def modulate(self, name, x):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + EPSILON) * (1 + self.weights[name + ".scale"]) + self.weights[name + ".shift"]

    def gate(self, name, y):
        return self.weights[name] * y

    def rms(self, name, rows, over):
        """rows [tokens, heads, dim]; the mean square over the axes `over`."""
        weight = self.weights[name].reshape(self.heads, self.dim)
        return rows / np.sqrt((rows ** 2).mean(axis=over, keepdims=True) + EPSILON) * weight

    def feed_forward(self, h, dot=""):
        f = self.linear("w1" + dot, h)
        f = 0.5 * f * (1 + np.tanh(np.sqrt(2 / np.pi) * (f + 0.044715 * f ** 3)))
        return self.linear("w2" + dot, f)

    def angles(self, form):
        """[tokens, pairs of channels] of the whole grid."""
        pairs = self.dim // 2
        outer, inner = np.divmod(np.arange(self.outer * self.inner), self.inner)
        _, height, width = self.w["grid"]
        text = self.is_text[inner]
        video = inner - (self.w["text_tokens"] if self.w["text_first"] else 0)
        if form == "frames":
            parts = [(pairs, outer)]
        elif form == "frame":
            parts = [(pairs - self.dim // 4, video // width), (self.dim // 4, video % width)]
        else:
            sixth = self.dim // 6
            parts = [(pairs - 2 * sixth, video // (height * width)), (sixth, video // width % height), (sixth, video % width)]
        turned = [position[:, None] * THETA ** (-np.arange(count) / max(count, 1)) for count, position in parts]
        return np.concatenate(turned, axis=1) * ~text[:, None]

    def rotate(self, rows, form, tokens):
        t = self.angles(form)[tokens][:, None, :]
        pairs = self.dim // 2
        a, b = rows[..., 0:2 * pairs:2].copy(), rows[..., 1:2 * pairs:2].copy()
        rows = rows.copy()
        rows[..., 0:2 * pairs:2], rows[..., 1:2 * pairs:2] = a * np.cos(t) - b * np.sin(t), a * np.sin(t) + b * np.cos(t)
        return rows

    def project(self, h, tokens, dot, norm, over, form):
        """q, k and v [tokens, heads, dim] of rows at some tokens of the grid."""
        q = self.linear("wq" + dot, h).reshape(-1, self.heads, self.dim)
        kv = self.linear("wkv" + dot, h).reshape(-1, self.heads, 2, self.dim)
        q = self.rotate(self.rms(norm + dot + ".q", q, over), form, tokens)
        k = self.rotate(self.rms(norm + dot + ".k", kv[:, :, 0], over), form, tokens)
        return q, k, kv[:, :, 1]

    def attend(self, q, k, v, axis):
        """All tokens of the grid, [tokens, heads, dim]; rows of hidden channels."""
        mask = self.masks[axis]
        q, k, v = (x.reshape(self.outer, self.inner, self.heads, self.dim) for x in (q, k, v))
        if axis == "outer":
            q, k, v = (x.swapaxes(0, 1) for x in (q, k, v))
        out = np.zeros_like(q)
        for head in range(self.heads):
            active = mask.pairs(head)
            for s in range(len(q)):
                out[s, :, head] = softmax_attention(q[s, :, head], k[s, :, head], v[s, :, head], active)
        if axis == "outer":
            out = out.swapaxes(0, 1)
        return out.reshape(-1, self.hidden)

    def attend_to_text(self, name, q, normed):
        text = self.weights["text"]
        text = text[self.sample] if text.ndim == 3 else text
        kv = self.linear(name, text).reshape(-1, self.heads, 2, self.dim)
        k = self.rms(name + ".k", kv[:, :, 0], (1, 2)) if normed else kv[:, :, 0]
        every = np.ones((len(q), len(text)), bool)
        return np.stack([softmax_attention(q[:, h], k[:, h], kv[:, h, 1], every) for h in range(self.heads)],
                        axis=1).reshape(-1, self.hidden)

    # -- blocks

    def by_stream(self, x, compute):
        """compute(part, rows, tokens) of video and text, each with its tokens of the grid."""
        text = self.is_text[np.arange(self.outer * self.inner) % self.inner]
        out = None
        for part, chosen in (("video", ~text), ("text", text)):
            tokens = np.flatnonzero(chosen)
            if len(tokens) == 0:
                continue
            made = compute(part, x[tokens], tokens)
            if out is None:
                out = [np.zeros((len(x), *m.shape[1:])) for m in made]
            for whole, piece in zip(out, made):
                whole[tokens] = piece
        return out

    def wan(self, x):
        every = np.arange(len(x))
        q, k, v = self.project(self.modulate("modulate.self", x), every, "", "rms_rope", (1, 2), "video")
        x = x + self.gate("gate.self", self.linear("wo", self.attend(q, k, v, "inner")))
        if self.w["context_tokens"]:
            q = self.linear("cross_wq", self.modulate("modulate.cross", x))
            q = self.rms("rms.cross.q", q.reshape(-1, self.heads, self.dim), (1, 2))
            x = x + self.linear("cross_wo", self.attend_to_text("cross_attention", q, True))
        return x + self.gate("gate.ffn", self.feed_forward(self.modulate("modulate.ffn", x)))

    def joint(self, x):
        def modulated(rows, prefix):
            return self.by_stream(rows, lambda part, r, _: [self.modulate(f"modulate.{prefix}{part}", r)])[0]

        def gated(rows, prefix):
            return self.by_stream(rows, lambda part, r, _: [self.gate(f"gate.{prefix}{part}", r)])[0]

        q, k, v = self.project(modulated(x, ""), np.arange(len(x)), "", "head_rms_rope", 2, "video")
        x = x + gated(self.linear("wo", self.attend(q, k, v, "inner")), "")
        return x + gated(self.feed_forward(modulated(x, "ffn_")), "ffn_")

    def double(self, x):
        q, k, v = self.by_stream(x, lambda part, r, tokens: self.project(
            self.modulate("modulate." + part, r), tokens, "." + part, "head_rms_rope", 2, "video"))
        o = self.attend(q, k, v, "inner")
        x = x + self.by_stream(o, lambda part, r, _: [self.gate("gate." + part, self.linear("wo." + part, r))])[0]
        return x + self.by_stream(x, lambda part, r, _: [self.gate("gate.ffn_" + part, self.feed_forward(
            self.modulate("modulate.ffn_" + part, r), "." + part))])[0]

    def single(self, x):
        h = self.modulate("modulate", x)
        q, k, v = self.project(h, np.arange(len(x)), "", "head_rms_rope", 2, "video")
        return x + self.gate("gate", self.linear("wo", self.attend(q, k, v, "inner")) + self.feed_forward(h))

    def spatial_temporal(self, x):
        for part, axis, form in (("spatial", "inner", "frame"), ("temporal", "outer", "frames")):
            dot = "." + part
            q, k, v = self.project(self.modulate("modulate" + dot, x), np.arange(len(x)), dot, "head_rms_rope", 2, form)
            x = x + self.gate("gate" + dot, self.linear("wo" + dot, self.attend(q, k, v, axis)))
            if self.w["context_tokens"]:
                q = self.linear("cross_wq" + dot, x).reshape(-1, self.heads, self.dim)
                x = x + self.linear("cross_wo" + dot, self.attend_to_text("cross_attention" + dot, q, False))
            if self.w["feed_forward_networks"] == 2 or part == "temporal":
                x = x + self.gate(f"gate{dot}_ffn", self.feed_forward(self.modulate(f"modulate{dot}_ffn", x), dot))
        return x


BLOCKS = {"wan": Layer.wan, "joint": Layer.joint, "double-stream": Layer.double, "single-stream": Layer.single,
          "spatial-temporal": Layer.spatial_temporal}


def check(folder, weights, strategies):
    """{strategy: largest error of a row} of a dumped layer pass; a row is a token with all channels."""
    w, masks = read_layer(folder), read_masks(folder)
    samples = (lambda path: np.load(path) if w["batch"] > 1 else np.load(path)[None])
    true = np.stack([BLOCKS[w["block"]](Layer(w, masks, weights, sample), x.astype(np.float64))
                     for sample, x in enumerate(samples(folder / "x.npy"))])
    return {s: float(row_errors([true], [samples(folder / f"y-{s}.npy")]).max()) for s in strategies}


def allowed(folder):
    w = read_layer(folder)
    return tolerance(w["dtype"], w["batch"] * w["outer_tokens"] * w["inner_tokens"], w["hidden"])


def main(dump, limit=None):
    dump, compared, failed = Path(dump), 0, False
    weights = Weights(dump / "weights")
    for x in sorted(dump.rglob("x.npy")):
        strategies = [path.stem[2:] for path in sorted(x.parent.glob("y-*.npy"))]
        for strategy, error in check(x.parent, weights, strategies).items():
            print(f"{strategy} {error:.6e}")
            failed |= not error <= (float(limit) if limit else allowed(x.parent))
            compared += 1
    return 1 if failed or not compared else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
