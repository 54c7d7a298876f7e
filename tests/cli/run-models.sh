#!/usr/bin/env bash
# Batches, text and both kinds of layers by the configs of models: every strategy that can run is verified, and the others
# say why not.
. "$(dirname -- "$0")/common.inc"
passed='all(x["verify"] == "passed" for x in s.values() if x["legal"])'

part batch
# A batch is computed whole on every rank: verified, and exactly twice the bytes of one sample.
sent() { figures "$1 * sum(x['bytes_sent'])"; }
strategies=(-s ulysses -s ring -s usp --set cluster.ranks=3)
expect_exit 0 run "${small[@]}" "${strategies[@]}" --json
twice=$(sent 2)
expect_exit 0 run "${small[@]}" "${strategies[@]}" --set model.batch=2 --json
expect_json 'd["workload"]["batch"] == 2' "$passed"
[ "$(sent 1)" = "$twice" ] || fail "a batch of 2 sends $(sent 1), not $twice"
# Two passes of guidance in one batch take what two samples take, and are one: half of the samples, and one to decode.
modelled=(run --set model.preset=cogvideox-2b --set run.mode=simulate --set run.scope=layer --set run.layers=spread:1
  --set cluster.preset=a100x8 --set mask.pattern=dense --json -s ulysses)
expect_exit 0 "${modelled[@]}" --set model.cfg=1 --set model.batch=2
two_samples=$(figures "(x['makespan_ns'], x['outside_layers_ns'])")
expect_exit 0 "${modelled[@]}" --set model.cfg=2 --set model.passes_in_batch=2
expect_json "s['ulysses']['makespan_ns'] == ${two_samples}[0][1][0]" "s['ulysses']['outside_layers_ns'] < ${two_samples}[0][1][1]" \
  's["ulysses"]["samples_per_hour"] * s["ulysses"]["end_to_end_ns"] / 3.6e12 > 0.999' 'd["workload"]["batch"] == 1'

part text
# Joint text tokens cut like any other tokens; text that every rank keeps whole runs under ulysses, and a ring refuses it.
text=(run --set model.preset=cogvideox-5b "${small[@]}" --set model.heads=6 --set model.text_tokens=29 -s ulysses -s ring
  -s "usp:ulysses=2,ring=2" --json)
expect_exit 0 "${text[@]}" --set run.text=shard
expect_json 'd["workload"]["tokens"] == 155' 'all(x["verify"] == "passed" for x in s.values())'
expect_exit 0 "${text[@]}" --set run.text=replicate
expect_json 's["ulysses"]["verify"] == "passed"' 's["ulysses"]["bytes_by_tensor"]["text"] > 0' \
  'not s["ring"]["legal"] and "a ring of 4 cannot keep its 29 text tokens replicated" in s["ring"]["reason"]' \
  'not s["usp"]["legal"] and s["usp"]["makespan_ns"] is None' \
  's["ring"]["problems"][0]["id"] == "SPS-100" and "shard" in s["ring"]["problems"][0]["hint"]'

part whole-layers
# An MM-DiT model's layers change from two streams to one; only a spatial-temporal model has an axis to switch the cut to.
layer=(run "${small[@]}" --set run.scope=layer --set model.heads=4 --set model.text_tokens=13 -s ulysses -s ring -s "usp:ulysses=2,ring=2"
  -s megatron_sp -s megatron_tp -s dsp --json)
for model in wan-mini cogvideox-5b hunyuanvideo; do
  expect_exit 0 "${layer[@]}" --set model.preset=$model --set model.layers=3 --set run.layers=3
  expect_json 'd["workload"]["scope"] == "layer"' "$passed" 'not s["dsp"]["legal"] and "separate spatial and temporal" in s["dsp"]["reason"]'
done
# One layer of two streams, two of one: shares of two sums are added before they are scattered, and a double block has two
# gathers and two scatters.
expect_json 's["megatron_sp"]["bytes_by_tensor"]["hidden"] == (4 + 2 + 2) * 3 * (126 + 13) * 32 * 2'
expect_exit 0 "${layer[@]}" --set model.preset=st-mini --set model.text_tokens=0
expect_json 'all(x["verify"] == "passed" for x in s.values())' 'sum(s["dsp"]["bytes_sent"]) < sum(s["ulysses"]["bytes_sent"])'
# The attention alone has no hidden state to switch, and no weights to cut.
expect_exit 0 plan --set model.preset=st-mini -s dsp -s megatron_tp --json
expect_json 'all("run.scope" in x["problems"][0]["hint"] for x in s.values())'
expect_refused 'model.activations gives them' -- plan --set run.scope=layer --set model.activations=qkv.npz -s ring

# Values of one channel that cancel leave 1.5e-10 of a row in fp32, which the tolerance of its head dimension covers.
expect_exit 0 run --set model.preset=wan2.1-t2v-14b --set model.grid=5,9,3 --set model.heads=10 --set model.head_dim=1 \
  --set mask.pattern=paro --set mask.density=0.725 --set mask.seed=927590972126463 --set mask.block=128 --set run.dtype=fp32 \
  --set run.seed=293343769947 --set run.repeats=1 --set cluster.ranks=1 -s single --json
expect_json 's["single"]["verify"] == "passed"' '1e-10 < s["single"]["max_error"] < 2e-10'

part ids
# A strategy that is asked for several times with other parameters gets an id of its own each time; twice the same is once.
expect_exit 0 run "${small[@]}" -s usp:ulysses=1,ring=4 -s usp:ulysses=2,ring=2 -s ring -s ring:order=contiguous -s usp:ulysses=4,ring=1 --json
expect_json 'list(s) == ["usp", "usp-2", "ring", "usp-3"]' \
  's["usp"]["resolved"]["ring"] == 4 and s["usp-2"]["resolved"]["ring"] == 2' \
  's["usp-2"]["parameters"]["ulysses"] == 2'
