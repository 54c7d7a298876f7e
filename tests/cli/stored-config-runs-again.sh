#!/usr/bin/env bash
# The config that a file holds can be run as it is, for every sample, in every mode, and gives the same plan and figures.
# labels: extended
# cost: 30
. "$(dirname -- "$0")/common.inc"

cat >same.py <<'END'
"""same.py RESULT AGAIN: the two have the same workload and figures, times apart."""
import json
import sys

first, again = ([(s["id"], s["label"], s["legal"], s["bytes_sent"], s["tiles"], s["imbalance_ratio"], s["verify"])
                 for s in json.load(open(path))["strategies"]] for path in sys.argv[1:])
assert first == again and first, (first, again)
END

for sample in "$samples"/*.toml; do
  grep -q '^\[network\]' "$sample" && continue  # a cluster
  modes=(simulate execute project)
  grep -q '"simulate"' "$sample" && modes=(simulate)  # too large for anything else
  for mode in "${modes[@]}"; do
    expect_exit 0 run "$sample" --set "run.mode=$mode" --set run.repeats=1 -o kept.db --json
    cp "$out" first
    "$python" -B -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT config_toml FROM workload").fetchone()[0])' \
      kept.db >again.toml
    expect_exit 0 run again.toml --json
    "$python" -B same.py first "$out" || fail "$sample, $mode: the stored config gives something else"
    expect_exit 0 plan again.toml
    rm kept.db first again.toml
  done
done
