#!/usr/bin/env bash
# Layers and denoise steps are each planned, run and verified; a plan may know only the mask of the step before.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" --set run.layers=2 --set run.denoise_steps=3 --set run.mask_lag=1 -s ring -s usp --json
expect_json 'all(len(x["by_layer"]) == 6 for x in s.values())' \
  'sorted((l["denoise_step"], l["layer"]) for l in s["ring"]["by_layer"]) == [(t, l) for t in range(3) for l in range(2)]' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])' \
  'all((l["planned_imbalance_ratio"] is None) == (l["denoise_step"] == 0) for l in s["usp"]["by_layer"])'

# Strategies that read the mask divide in order at the first step, and by the mask of the step before from then on.
balancing=(-s snake -s "cyclic:ulysses=1,ring=3" -s "dbsp:ulysses=3,ring=1" -s "dbsp:ulysses=1,ring=3,reward=0")
expect_exit 0 run "${small[@]}" --set cluster.ranks=3 --set mask.pattern=sparge --set mask.density=0.5 --set run.layers=2 \
  --set run.denoise_steps=3 --set run.mask_lag=1 "${balancing[@]}" --json
expect_json 'len(s) == 4 and all(len(x["by_layer"]) == 6 for x in s.values())' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])' \
  'all((l["planned_imbalance_ratio"] is None) == (l["denoise_step"] == 0) for x in s.values() for l in x["by_layer"])'
