"""Whole layers in double precision, from docs/layers.md, the hidden state and the masks that `run --dump` writes."""
import numpy as np

from attention import read_masks, row_errors, softmax_attention

TOLERANCE = {"fp32": 1e-10, "bf16": 5e-4}  # docs/metrics.md, "Check"
GOLDEN, EPSILON, THETA = 0x9e3779b97f4a7c15, 1e-6, 10000.0
WORD = (1 << 64) - 1
SCALE, SHIFT, GATE, NORM = range(4)
Q, KV, X = 1, 6, 32


# -- seeded numbers

def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & WORD
    z = (z ^ z >> 27) * 0x94d049bb133111eb & WORD
    return z ^ z >> 31


def join(h, v):
    return mix(((h ^ v) + GOLDEN + (h << 6 & WORD)) & WORD)


def normals(seed, name, part, count):
    key = join(part, len(name))
    for byte in name.encode():
        key = join(key, byte)
    state = mix(seed) ^ mix((key * GOLDEN + 1) & WORD)
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, 2 * count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
    uniform = (z >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
    return np.sqrt(-2 * np.log(1 - uniform[0::2])) * np.cos(2 * np.pi * uniform[1::2])


def rounded(numbers, dtype):
    """As floats, or rounded to the nearest bf16, ties to even."""
    floats = numbers.astype(np.float32)
    if dtype == "bf16":
        bits = floats.view(np.uint32)
        floats = ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
    return floats.astype(np.float64)


class Layer:
    def __init__(self, w, masks, seed, sample):
        self.w, self.masks, self.seed, self.sample = w, masks, seed, sample
        self.heads, self.dim, self.hidden = w["heads"], w["head_dim"], w["hidden"]
        self.outer, self.inner = w["outer_tokens"], w["inner_tokens"]
        first = 0 if w["text_first"] else self.inner - w["text_tokens"]
        self.is_text = np.zeros(self.inner, bool)
        self.is_text[first:first + w["text_tokens"]] = True

    # -- parameters

    def weight(self, name, rows, columns):
        numbers = normals(self.seed, name, 0, rows * columns) * (1 / np.sqrt(rows))
        return rounded(numbers, self.w["dtype"]).reshape(rows, columns)

    def channels(self, name, which, tensors, count):
        normal = normals(self.seed, name, 1 + (which << 16) + tensors, count)
        numbers = {SCALE: normal / 4, SHIFT: normal / 4, GATE: normal, NORM: 1.25 + normal / 4}[which]
        return rounded(numbers, self.w["dtype"])

    # -- steps

    def linear(self, name, x, columns):
        return x @ self.weight(name, x.shape[-1], columns)

    def modulate(self, name, x):
        mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        scale, shift = (self.channels(name, which, X, self.hidden) for which in (SCALE, SHIFT))
        return (x - mean) / np.sqrt(variance + EPSILON) * (1 + scale) + shift

    def gate(self, name, y):
        return self.channels(name, GATE, X, self.hidden) * y

    def rms(self, name, tensors, rows, over):
        """rows [tokens, heads, dim]; the mean square over the axes `over`."""
        weight = self.channels(name, NORM, tensors, self.heads * self.dim).reshape(self.heads, self.dim)
        return rows / np.sqrt((rows ** 2).mean(axis=over, keepdims=True) + EPSILON) * weight

    def feed_forward(self, h, dot=""):
        f = self.linear("w1" + dot, h, self.w["ffn"])
        f = 0.5 * f * (1 + np.tanh(np.sqrt(2 / np.pi) * (f + 0.044715 * f ** 3)))
        return self.linear("w2" + dot, f, self.hidden)

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
        q = self.linear("wq" + dot, h, self.hidden).reshape(-1, self.heads, self.dim)
        kv = self.linear("wkv" + dot, h, 2 * self.hidden).reshape(-1, self.heads, 2, self.dim)
        q = self.rotate(self.rms(norm + dot, Q, q, over), form, tokens)
        k = self.rotate(self.rms(norm + dot, KV, kv[:, :, 0], over), form, tokens)
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
        count = self.w["context_tokens"]
        text = rounded(normals(self.seed, "text", 0, self.w["batch"] * count * self.hidden), self.w["dtype"])
        text = text.reshape(-1, count, self.hidden)[self.sample]
        kv = self.linear(name, text, 2 * self.hidden).reshape(-1, self.heads, 2, self.dim)
        k = self.rms(name, KV, kv[:, :, 0], (1, 2)) if normed else kv[:, :, 0]
        every = np.ones((len(q), count), bool)
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
        x = x + self.gate("gate.self", self.linear("wo", self.attend(q, k, v, "inner"), self.hidden))
        if self.w["context_tokens"]:
            q = self.linear("cross_wq", self.modulate("modulate.cross", x), self.hidden)
            q = self.rms("rms.cross", Q, q.reshape(-1, self.heads, self.dim), (1, 2))
            x = x + self.linear("cross_wo", self.attend_to_text("cross_attention", q, True), self.hidden)
        return x + self.gate("gate.ffn", self.feed_forward(self.modulate("modulate.ffn", x)))

    def joint(self, x):
        def modulated(rows, prefix):
            return self.by_stream(rows, lambda part, r, _: [self.modulate(f"modulate.{prefix}{part}", r)])[0]

        def gated(rows, prefix):
            return self.by_stream(rows, lambda part, r, _: [self.gate(f"gate.{prefix}{part}", r)])[0]

        q, k, v = self.project(modulated(x, ""), np.arange(len(x)), "", "head_rms_rope", 2, "video")
        x = x + gated(self.linear("wo", self.attend(q, k, v, "inner"), self.hidden), "")
        return x + gated(self.feed_forward(modulated(x, "ffn_")), "ffn_")

    def double(self, x):
        q, k, v = self.by_stream(x, lambda part, r, tokens: self.project(
            self.modulate("modulate." + part, r), tokens, "." + part, "head_rms_rope", 2, "video"))
        o = self.attend(q, k, v, "inner")
        x = x + self.by_stream(o, lambda part, r, _: [self.gate("gate." + part, self.linear("wo." + part, r, self.hidden))])[0]
        return x + self.by_stream(x, lambda part, r, _: [self.gate("gate.ffn_" + part, self.feed_forward(
            self.modulate("modulate.ffn_" + part, r), "." + part))])[0]

    def single(self, x):
        h = self.modulate("modulate", x)
        q, k, v = self.project(h, np.arange(len(x)), "", "head_rms_rope", 2, "video")
        return x + self.gate("gate", self.linear("wo", self.attend(q, k, v, "inner"), self.hidden) + self.feed_forward(h))

    def spatial_temporal(self, x, networks):
        for part, axis, form in (("spatial", "inner", "frame"), ("temporal", "outer", "frames")):
            dot = "." + part
            q, k, v = self.project(self.modulate("modulate" + dot, x), np.arange(len(x)), dot, "head_rms_rope", 2, form)
            x = x + self.gate("gate" + dot, self.linear("wo" + dot, self.attend(q, k, v, axis), self.hidden))
            if self.w["context_tokens"]:
                q = self.linear("cross_wq" + dot, x, self.hidden).reshape(-1, self.heads, self.dim)
                x = x + self.linear("cross_wo" + dot, self.attend_to_text("cross_attention" + dot, q, False), self.hidden)
            if networks == 2 or part == "temporal":
                x = x + self.gate(f"gate{dot}_ffn", self.feed_forward(self.modulate(f"modulate{dot}_ffn", x), dot))
        return x


def check(folder, workload, block, seed, strategies):
    """{strategy: largest error of a row} of a dumped whole layer; a row is a token with all channels."""
    masks = read_masks(folder)
    samples = (lambda path: np.load(path) if workload["batch"] > 1 else np.load(path)[None])
    true = []
    for sample, x in enumerate(samples(folder / "x.npy")):
        layer = Layer(workload, masks, seed, sample)
        rows = x.T.astype(np.float64)
        if block.startswith("spatial-temporal"):
            true.append(layer.spatial_temporal(rows, int(block[-1])))
        else:
            true.append({"wan": layer.wan, "joint": layer.joint, "double": layer.double, "single": layer.single}[block](rows))
    true = np.stack(true)
    return {s: float(row_errors([true], [samples(folder / f"x-{s}.npy").swapaxes(1, 2)]).max()) for s in strategies}
