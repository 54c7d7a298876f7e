#!/usr/bin/env bash
# run.layers as a number, a list and a spread: the masks are those of the layer, the stored config runs again, and a
# simulation takes 8 layers spread over the model unless told otherwise.
. "$(dirname -- "$0")/common.inc"

part chosen
job=(--set run.mode=simulate --set model.layers=40 --set "model.grid=2,8,8" --set cluster.ranks=4 --set mask.block=16
  --set mask.pattern=paro --set model.preset=wan2.1-t2v-14b -s ulysses -s ring)
by_layer() { python3 -c "import json, sys; print([$2 for p in json.load(open(sys.argv[1]))['strategies'][0]['by_layer']])" "$1"; }
# expect_layers LAYERS ARGUMENT...: they are those that ran.
expect_layers() {
  expect_exit 0 run "${@:2}" --json
  [ "$(by_layer "$out" 'p["layer"]')" = "[$1]" ] || fail "the layers were $(by_layer "$out" 'p["layer"]')"
}

expect_layers '2, 7, 12, 17, 22, 27, 32, 37' "${job[@]}" -o auto.db
cp "$out" auto.json
expect_json 'd["workload"]["layers"] == 8 and d["workload"]["model_layers"] == 40' \
  'all(x["over_layers"]["makespan_ns"]["min"] < x["over_layers"]["makespan_ns"]["max"] for x in s.values())' \
  'all(x["end_to_end_spread_ns"] > 0 and x["samples_per_hour"] > 0 for x in s.values())' \
  'all(sum(p["makespan_ns"] for p in x["by_layer"]) == x["makespan_ns"] for x in s.values())' \
  'all(sum(rank) == x["makespan_ns"] for x in s.values() for rank in zip(x["compute_ns"], x["wire_ns"], x["wait_late_peer_ns"], x["other_ns"]))'
expect_exit 0 run "${job[@]}"
expect_out '8 of 40 layers' '±'
expect_exit 0 doctor auto.db

# What is kept says which layers these were, and gives the same numbers again.
config_of auto.db >again.toml
grep -F 'layers = "spread:8"' again.toml || fail "the stored config does not say which layers ran"
expect_exit 0 run again.toml --json
[ "$(by_layer auto.json p)" = "$(by_layer "$out" p)" ] || fail "the stored config gives other numbers"

# Layer 17 is layer 17 whichever others run.
expect_layers '3, 17' "${job[@]}" --set run.layers=17,3
layer_17() { by_layer "$1" '(p["layer"], p["tiles"], p["imbalance_ratio"])' | grep -o '(17,[^)]*)'; }
[ "$(layer_17 auto.json)" = "$(layer_17 "$out")" ] || fail "the mask of layer 17 depends on the layers beside it"
expect_layers '10, 30' "${job[@]}" --set run.layers=spread:2
expect_layers '0, 1' "${job[@]}" --set run.layers=2
expect_refused 'layer 40 is to run' 'the last one is 39' -- run "${job[@]}" --set run.layers=0,40
expect_refused '41 layers are to run' -- run "${job[@]}" --set run.layers=spread:41
expect_refused 'spread:8' -- run "${job[@]}" --set run.layers=some

# Other modes run the first layer.
expect_layers 0 "${small[@]}" --set run.layers=auto -s ring

part planned
# Layers and denoise steps are each planned, run and verified; a plan may know only the mask of the step before.
# Strategies that read the mask divide in order at the first step, and by the mask of the step before from then on.
expect_exit 0 run "${small[@]}" --set cluster.ranks=3 --set mask.pattern=sparge --set mask.density=0.5 --set run.layers=2 \
  --set run.denoise_steps=3 --set run.mask_lag=1 -s ring -s usp -s snake -s cyclic:ulysses=1,ring=3 -s dbsp:ulysses=3,ring=1 \
  -s dbsp:ulysses=1,ring=3,reward=0 --json
expect_json 'len(s) == 6 and all(len(x["by_layer"]) == 6 for x in s.values())' \
  'sorted((l["denoise_step"], l["layer"]) for l in s["ring"]["by_layer"]) == [(t, l) for t in range(3) for l in range(2)]' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])' \
  'all((l["planned_imbalance_ratio"] is None) == (l["denoise_step"] == 0) for x in s.values() for l in x["by_layer"])'
