#!/usr/bin/env bash
# The config that a file holds can be run as it is, for every sample, in every mode, and gives the same plan and figures.
# labels: extended
# cost: 30
. "$(dirname -- "$0")/common.inc"

results() { figures "x['label'], x['legal'], x['bytes_sent'], x['tiles'], x['imbalance_ratio'], x['verify']"; } # but times
for sample in "$samples"/*.toml; do
  grep -q '^\[network\]' "$sample" && continue  # a cluster
  modes=(simulate execute project)
  grep -qE '"simulate"|"cuda"' "$sample" && modes=(simulate)  # too large for anything else, or for a GPU
  for mode in "${modes[@]}"; do
    expect_exit 0 run "$sample" --set "run.mode=$mode" --set run.repeats=1 -o kept.db --json
    first=$(results)
    config_of kept.db >again.toml
    expect_exit 0 run again.toml --json
    [ "$(results)" = "$first" ] || fail "$sample, $mode: the stored config gives something else"
    expect_exit 0 plan again.toml
    rm kept.db again.toml
  done
done
