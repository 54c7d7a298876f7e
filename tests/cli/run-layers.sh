#!/usr/bin/env bash
# Layers and denoise steps are each planned, run and verified; a plan may know only the mask of the step before.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" --set run.layers=2 --set run.denoise_steps=3 --set run.mask_lag=1 -s ring -s usp --json
expect_json 'all(len(x["by_layer"]) == 6 for x in s.values())' \
  'sorted((l["denoise_step"], l["layer"]) for l in s["ring"]["by_layer"]) == [(t, l) for t in range(3) for l in range(2)]' \
  'all(l["verify"] == "passed" for x in s.values() for l in x["by_layer"])' \
  'all((l["planned_imbalance_ratio"] is None) == (l["denoise_step"] == 0) for l in s["usp"]["by_layer"])'
