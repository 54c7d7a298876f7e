#!/usr/bin/env bash
# Batches, text and both kinds of layers by the configs of models: every strategy that can run is verified, and the others
# say why not.
. "$(dirname -- "$0")/common.inc"

part batch
# A batch is computed whole on every rank: verified, and exactly twice the bytes of one sample.
bytes() { python3 -B -c 'import json, sys; print(*(sum(s["bytes_sent"]) for s in json.load(open(sys.argv[1]))["strategies"]))' "$out"; }
strategies=(-s ulysses -s ring -s usp --set cluster.ranks=3)
expect_exit 0 run "${small[@]}" "${strategies[@]}" --json
read -r ulysses ring usp <<<"$(bytes)"
expect_exit 0 run "${small[@]}" "${strategies[@]}" --set model.batch=2 --json
expect_json 'd["workload"]["batch"] == 2' 'all(x["verify"] == "passed" for x in s.values())' \
  "sum(s['ulysses']['bytes_sent']) == 2 * $ulysses > 0" "sum(s['ring']['bytes_sent']) == 2 * $ring > 0" \
  "sum(s['usp']['bytes_sent']) == 2 * $usp > 0"

part temporal
# A model whose attention alternates between space and time runs verified under every strategy.
expect_exit 0 run --set model.preset=st-mini --set run.repeats=1 --set model.grid=6,4,5 -s ulysses -s ring \
  -s usp:ulysses=2,ring=2 --json
expect_json 'd["workload"]["model"] == "st-mini"' 'len(s) == 3' \
  'all(x["legal"] and x["verify"] == "passed" for x in s.values())'

part text-replicate
# Text that every rank keeps whole runs verified under ulysses, and a ring refuses it with the reason.
expect_exit 0 run --set model.preset=cogvideox-5b "${small[@]}" --set model.heads=6 --set model.text_tokens=29 \
  --set run.text=replicate -s ulysses -s ring -s usp:ulysses=2,ring=2 --json
expect_json 's["ulysses"]["verify"] == "passed"' 's["ulysses"]["bytes_by_tensor"]["text"] > 0' \
  'not s["ring"]["legal"] and "a ring of 4 cannot keep its 29 text tokens replicated" in s["ring"]["reason"]' \
  'not s["usp"]["legal"] and s["usp"]["makespan_ns"] is None' \
  's["ring"]["problems"][0]["id"] == "SPS-100" and "shard" in s["ring"]["problems"][0]["hint"]'

part text-shard
# Joint text tokens cut like any other tokens: every strategy runs verified.
expect_exit 0 run --set model.preset=cogvideox-5b "${small[@]}" --set model.heads=6 --set model.text_tokens=29 \
  --set run.text=shard -s ulysses -s ring -s usp --json
expect_json 'd["workload"]["tokens"] == 155' 'len(s) == 3' 'all(x["verify"] == "passed" for x in s.values())'

part whole-layers
# With scope = layer every kind of model runs whole layers, verified under every strategy that is legal for it; an
# MM-DiT model's layers change from two streams to one.
layer=("${small[@]}" --set run.scope=layer --set model.heads=4 -s ulysses -s ring -s "usp:ulysses=2,ring=2"
  -s megatron_sp -s megatron_tp -s dsp --json)
passed='all(x["verify"] == "passed" for x in s.values() if x["legal"])'
full_3d='not s["dsp"]["legal"] and "no axis to switch the cut to" in s["dsp"]["reason"]'

expect_exit 0 run --set model.preset=wan-mini "${layer[@]}"
expect_json 'd["workload"]["scope"] == "layer"' "$passed" "$full_3d" 's["megatron_sp"]["bytes_by_tensor"]["norm"] > 0'
expect_exit 0 run --set model.preset=cogvideox-5b --set model.text_tokens=13 "${layer[@]}"
expect_json "$passed" "$full_3d"
# One layer of two streams, two of one: joined sums are scattered apart, and a double block has one gather more.
expect_exit 0 run --set model.preset=hunyuanvideo --set model.text_tokens=13 --set model.layers=3 \
  "${layer[@]}" --set run.layers=3
expect_json "$passed" "$full_3d" \
  's["megatron_sp"]["bytes_by_tensor"]["hidden"] == (4 + 3 + 3) * 3 * (126 + 13) * 32 * 2'
expect_exit 0 run --set model.preset=st-mini "${layer[@]}"
expect_json "$passed" 'all(x["legal"] for x in s.values())' \
  'sum(s["dsp"]["bytes_sent"]) < sum(s["ulysses"]["bytes_sent"])'

# The attention alone has no hidden state to switch, and no weights to cut.
expect_exit 0 plan --set model.preset=st-mini -s dsp -s megatron_tp --json
expect_json 'all("run.scope" in x["problems"][0]["hint"] for x in s.values())'
expect_refused 'model.activations gives them' -- plan --set run.scope=layer --set model.activations=qkv.npz -s ring

part ids
# A strategy that is asked for several times with other parameters gets an id of its own each time.
expect_exit 0 run "${small[@]}" -s usp:ulysses=1,ring=4 -s usp:ulysses=2,ring=2 -s ring -s usp:ulysses=4,ring=1 --json
expect_json 'list(s) == ["usp", "usp-2", "ring", "usp-3"]' \
  's["usp"]["resolved"]["ring"] == 4 and s["usp-2"]["resolved"]["ring"] == 2' \
  's["usp-2"]["parameters"]["ulysses"] == 2'
# One that is asked for twice runs and is shown once.
expect_exit 0 run "${small[@]}" -s ring -s ring -s ring:order=contiguous -s ring:order=cyclic --json
expect_json 'list(s) == ["ring", "ring-2"]' 's["ring-2"]["parameters"]["order"] == "cyclic"'
