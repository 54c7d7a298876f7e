#!/usr/bin/env bash
# check finds each planted fault of attention over several ranks in outputs that other code computed, and passes those that are
# right, in each layout and dtype; its own outputs pass, and what does not fit is refused with the file and its shape.
# labels: hostile
. "$(dirname -- "$0")/common.inc"
"$python" -c 'import numpy' 2>/dev/null || skip "numpy is missing (package python3-numpy)"

expect_exit 0 run "${small[@]}" --set model.preset=flux.1-schnell --set model.grid=1,6,10 --set model.text_tokens=13 --set run.dtype=fp32 \
  --set cluster.ranks=3 --set mask.pattern=sparge --set mask.density=0.6 -s ulysses -s ring --dump own
expect_exit 0 check own --json
expect_json 'd["passed"]' '[o["name"] for o in d["attentions"][0]["outputs"]] == ["ring", "ulysses"]'

# Outputs of plain numpy, one folder for each kind of input; the name of an output is that of its fault.
"$python" -B - <<'PYTHON'
import os
import numpy as np
rng, log = np.random.default_rng(3), np.log
H, L, D, TEXT, N = 6, 61, 8, 13, 4
cut = [L * j // N for j in range(N + 1)]
part = np.searchsorted(cut, np.arange(L), "right") - 1

def partial(q, k, v, on, scale=D ** -0.5):
    s = np.where(on, scale * q @ k.swapaxes(1, 2), -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    z = e.sum(-1, keepdims=True)
    return np.divide(e @ v, z, out=np.zeros_like(q), where=z > 0), z, m

def bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view(np.float32)

def save(folder, mask=None, **outputs):
    os.mkdir(folder)
    for name, x in dict(q=q, k=k, v=v).items():
        np.save(f"{folder}/{name}.npy", x.astype(np.float32))
    for name, o in outputs.items():
        np.save(f"{folder}/o-{name}.npy", o.astype(np.float32) if o.dtype == np.float64 else o)
    if mask is not None:
        np.save(f"{folder}/mask.npy", mask.astype(np.uint8))

q, k, v = (rng.normal(size=(H, L, D)).astype(np.float32).astype(np.float64) for _ in "qkv")
full = np.ones((L, L), bool)
attend = lambda on, **other: partial(q, k, v, on, **other)[0]
good, parts = attend(full), [partial(q, k, v, full & (part == j)) for j in range(N)]
lse = np.stack([log(z) + m for _, z, m in parts])
merged = lambda w: sum(o * x for (o, _, _), x in zip(parts, w / w.sum(0)))
turned, swapped, half = np.roll(good, cut[1], axis=1), good[[1, 0, 2, 3, 4, 5]], good.copy()
half[2:4, 50:60] = attend(part[:, None] == part)[2:4, 50:60]
late, tokens_lost, heads_lost = good.copy(), good.copy(), good.copy()
late[0, 0, 0] = np.nan
tokens_lost[:, cut[1]:cut[2]] = 0
heads_lost[2:4] = 0
twice = np.arange(L) >= L - TEXT
again = [np.concatenate([x, x[:, twice]], 1) for x in (k, v)]
zeros = [np.concatenate([x, np.zeros((H, 3, D))], 1) for x in (k, v)]
of = dict(right=good, local_keys=attend(part[:, None] == part), averaged=sum(o for o, _, _ in parts) / N,
     added=sum(o for o, _, _ in parts), not_rescaled=merged(np.stack([z for _, z, _ in parts])), base_of_lse=merged(np.exp(lse / log(2))),
     missing_step=attend((part[:, None] + 1) % N != part), text_counted_again=partial(q, *again, np.ones((L, L + TEXT), bool))[0],
     text_left_out=attend(full & ~twice), text_counted_again_at_the_other_end=partial(q, *(np.concatenate([x[:, :TEXT], x], 1) for x in (k, v)), np.ones((L, L + TEXT), bool))[0],
     other_heads=swapped, other_tokens=turned, causal=attend(np.tri(L, dtype=bool)),
     scale=attend(full, scale=1), padding=partial(q, *zeros, np.ones((L, L + 3), bool))[0],
     not_divided=partial(q, k, v, full)[0] * partial(q, k, v, full)[1], local_keys_of_some=half, not_a_number=late,
     zero_rows=tokens_lost, zero_rows_of_heads=heads_lost, zero_rows_everywhere=0 * good,
     no_fault_that_is_known=good + 1e-2 * rng.normal(size=good.shape))
save("faults", **of)
save("few", **{name: of[name] for name in ("right", "averaged", "local_keys_of_some", "no_fault_that_is_known")})
cut = [0, 16, 32, 48, L]
part = np.searchsorted(cut, np.arange(L), "right") - 1
local = attend(part[:, None] == part)
save("chunks", local_keys=local, local_keys_of_halves=local.astype(np.float16), local_keys_of_bf16=bf16(local))
block = rng.random((H, 8, 8)) < 0.5
block[:, 5] = False
on = block.repeat(8, 1).repeat(8, 2)[:, :L, :L]
masked = attend(on)
mean = np.where(on.any(-1)[..., None], masked, v.mean(1, keepdims=True))
save("masked", block, right=masked, mask_ignored=good, mask_transposed=attend(on.swapaxes(1, 2)), empty_rows=mean)
# As PyTorch has them: a batch, tokens before heads, fewer heads of k and v; o as halves, or flat.
k, v = k[:2], v[:2]
o = partial(q, k.repeat(3, 0), v.repeat(3, 0), full)[0]
q, k, v = (x.swapaxes(0, 1)[None] for x in (q, k, v))
save("layouts", half=o.astype(np.float16), flat=o.swapaxes(0, 1).reshape(1, L, H * D), heads_first=o, bf16=bf16(o))
PYTHON

expect_exit 1 check faults --text-tokens 13 --json
expect_json 'd["error_metric"] == "row_nmse"' '{o["name"] for o in d["attentions"][0]["outputs"] if o["verdict"] == "right"} == {"right"}' \
  'all(o["faults"][0]["fits"] and o["name"].startswith(o["faults"][0]["id"]) and len(o["faults"]) == 1
       for o in d["attentions"][0]["outputs"] if o["verdict"] == "wrong" and o["name"] != "no_fault_that_is_known")' \
  'all("4 parts" in o["faults"][0]["text"] for o in d["attentions"][0]["outputs"] if o["name"] in ("local_keys", "averaged", "missing_step"))' \
  '[(o["heads_off"], o["tokens_off"], o["rows_off"]) for o in d["attentions"][0]["outputs"] if o["name"] == "local_keys_of_some"] == [([2, 3], list(range(50, 60)), 20)]' \
  '[o["faults"] for o in d["attentions"][0]["outputs"] if o["name"] == "no_fault_that_is_known"] == [[]]'
expect_out 'heads 0 and 1 are swapped' '3 rows of zeros are attended to, as padding' 'the keys of the text are counted twice' \
  'the first 13 keys, as many as the text has, are counted twice' 'scores are scaled by 1 instead of 1 / sqrt(8)' \
  'the rows of rank 1 of 4 are 0: tokens 15 to 29' 'all of its rows are 0' 'the rows of rank 1 of 3 are 0: heads 2 to 3'
expect_exit 1 check few --text-tokens 13
expect_out 'few: 6 heads of 8 channels, 61 tokens, no mask or a full one; all 366 rows compared' '2 to 3  50 to 59' \
  'averaged: partial results of 4 parts of the keys are averaged, not weighted by their log-sum-exp. The largest' \
  'no_fault_that_is_known: No known fault gives these rows.'
expect_width 120
expect_exit 1 check chunks --parts 4 --json
expect_json '[o["judged_as"] for o in d["attentions"][0]["outputs"]] == ["fp32", "bf16", "fp16"]' \
  'all(f["text"].startswith("each rank attends to its own of 4 parts of the keys (cut as by torch.chunk) only") for o in d["attentions"][0]["outputs"] for f in o["faults"][:1])'
expect_exit 1 check masked --block 8 --json
expect_json 'all(o["verdict"] == "right" if o["name"] == "right" else o["faults"][0]["id"] == o["name"] for o in d["attentions"][0]["outputs"])'
expect_exit 0 check layouts --json
expect_json '{o["name"]: o["judged_as"] for o in d["attentions"][0]["outputs"]} == dict(half="fp16", flat="fp32", heads_first="fp32", bf16="bf16")' \
  'd["attentions"][0]["kv_heads"] == 2'
expect_exit 1 check layouts --dtype fp32
expect_out 'half: ' 'It would pass as fp16' 'bf16: ' 'It would pass as bf16'

# Refusals.
expect_refused 'SPS-124: nowhere is not a folder' 'run --dump' -- check nowhere
mkdir empty whole
expect_refused 'there is no q.npy in empty' 'docs/check.md' -- check empty
touch whole/x.npy
expect_refused 'it holds whole layers: check is of attention' -- check whole
expect_refused 'the mask in masked has no block borders' '--block is the tokens of its blocks' -- check masked
rm faults/v.npy chunks/o-*
expect_refused 'there is no v.npy in faults' -- check faults
expect_refused 'there is no output o-NAME.npy in chunks' 'o-mine.npy' -- check chunks
cp layouts/k.npy layouts/o-other.npy
expect_refused 'o-other.npy is [1, 61, 2, 8], and q.npy has 6 heads of 61 tokens with head_dim 8' 'save it as [6, 61, 8] or [61, 6, 8]' -- check layouts
cp own/layer-0/layer.json stated.json
printf '{"batch": 1e300, "heads": 3}' >own/layer-0/layer.json
expect_refused 'layer.json has no number "batch"' 'remove it' -- check own
mv stated.json own/layer-0/layer.json
truncate -s 3000 own/layer-0/k.npy
expect_refused 'SPS-041' 'k.npy' -- check own
