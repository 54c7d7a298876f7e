#!/usr/bin/env bash
# Presets of the desktop app, of models and of clusters are planned at full size, and a layer on 1,024 ranks.
# labels: extended
. "$(dirname -- "$0")/common.inc"

part app
# Every preset of the desktop app is legal: at least two strategies of each can run, and the command in its comment asks for
# a config that is accepted.
number=0
for preset in "$samples"/presets/*.toml; do
  number=$((number + 1))
  expect_exit 0 plan "$preset" --json --set run.layers=1 --set run.denoise_steps=1
  expect_json "sum(x['legal'] for x in d['strategies']) >= 2" "all(x['reason'] is None or x['id'] in ('dsp', 'torus', 'megatron_sp', 'megatron_tp') for x in d['strategies'])"
done
[ "$number" -eq 6 ] || fail "$number presets"
# Of a sweep, each of its values.
expect_exit 0 plan "$samples/presets/6-16-to-256-ranks.toml" -s usp:ulysses=8 --set run.layers=1 --set cluster.ranks=256 --json
expect_json "d['workload']['nodes'] == 32" "d['strategies'][0]['legal']"

part full-size
# Every model preset is planned at full size on eight ranks of a cluster preset, or refused with a reason.
names() { python3 -B -c 'import json, sys; print(*(r["name"] for r in json.load(open(sys.argv[1]))[sys.argv[2]]))' "$out" "$1"; }
expect_exit 0 list models --json
for model in $(names 'models'); do
  expect_exit 0 plan --set model.preset="$model" --set cluster.preset=h100x8 --set mask.block=256 -s all --json
  expect_json 'all(x["legal"] or x["reason"] for x in s.values())' 's["ring"]["legal"] and sum(s["ring"]["bytes_sent"]) > 0'
done
expect_exit 0 list clusters --json
for cluster in $(names 'clusters'); do
  expect_exit 0 plan "${small[@]}" --set cluster.preset="$cluster" --set cluster.ranks=4 -s ring --json
  expect_json 's["ring"]["legal"]'
done

part ranks
# One Wan2.1-14B layer is planned and verified on 1,024 ranks of 128 nodes, Ulysses inside the nodes, rings across them.
expect_exit 0 plan --set model.preset=wan2.1-t2v-14b --set cluster.preset=ndr-h100-xN --set cluster.nodes=128 \
  --set mask.pattern=paro --set mask.density=0.41 -s usp:ulysses=8,ring=128 --json
expect_json 'len(s["usp"]["bytes_sent"]) == 1024 and s["usp"]["resolved"]["rank_map"][-1] == 127' \
  'sum(s["usp"]["bytes_sent_intra_node"]) == 4 * 7 * 774144000 // 8' \
  'sum(s["usp"]["bytes_sent_inter_node"]) == 2 * 127 * 774144000' \
  's["usp"]["resolved"]["groups"]["ulysses"][1] == list(range(8, 16))'

# More ranks than a block of the mask may have tokens, and than there are tokens.
expect_exit 0 plan -s ring "${small[@]}" --set model.grid=1,2,2 --set cluster.ranks=512

# What is best balanced is not called fastest, and the degrees of the sample are refused with those to give.
expect_exit 0 plan "$samples/wan-14b.toml" -s usp:ulysses=4,ring=2 -s usp --set cluster.preset=ndr-h100-xN \
  --set cluster.ranks=1024 --set run.layers=1 --set 'run.scratch=/a b' --set run.mode=project
expect_out 'run.strategies or after -s: usp:ulysses=32,ring=32' \
  "  spscope run $samples/wan-14b.toml -s usp:ulysses=4,ring=2 -s usp --set cluster.preset=ndr-h100-xN --set cluster.ranks=1024 --set run.layers=1 --set 'run.scratch=/a b' --set run.mode=simulate"
