#!/usr/bin/env bash
# With scope = layer every kind of model runs whole layers, verified under every strategy that is legal for it; an
# MM-DiT model's layers change from two streams to one.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

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
