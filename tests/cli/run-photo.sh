#!/usr/bin/env bash
# The photo sample runs on 4 ranks and is verified, as a table and as JSON.
. "$(dirname -- "$0")/common.inc"

part sample
# The photo sample runs on 4 ranks, every output is verified, and exactly the figures of the table are printed.
expect_exit 0 run "$samples/photo.toml"
expect_out 'wan-mini, 1,584 tokens' '4 ranks of this machine' 'ulysses u4' 'ring r4' 'usp u2 r2' 'dbsp u2 r2' 'cyclic u2 r2'
[ "$(grep -c ' ok [0-9]' "$out")" -eq 5 ] || fail "five strategies are not verified"
expect_no_files
expect_no_scratch

part json
# The JSON of a run says of every strategy what was executed, counted and verified.
expect_exit 0 run "$samples/photo.toml" --json
expect_json \
  'd["schema_version"] == 1 and d["workload"]["tokens"] == 1584 and d["workload"]["blocks"] == 50' \
  'list(s) == ["ulysses", "ring", "usp", "dbsp", "cyclic"]' \
  'all(x["legal"] and x["verify"] == "passed" and 0 < x["max_error"] < 5e-5 for x in s.values())' \
  'all(x["provenance"] == {"compute": "measured", "network": "measured"} for x in s.values())' \
  'all(x["repeats"] == 5 and x["makespan_ns"] >= x["attention_ns"] > 0 for x in s.values())' \
  'all(sum(x["bytes_sent"]) == sum(x["bytes_received"]) for x in s.values())' \
  'all(sum(x["bytes_sent"]) == sum(x["bytes_by_tensor"].values()) for x in s.values())' \
  's["usp"]["resolved"]["groups"] == {"ulysses": [[0, 1], [2, 3]], "ring": [[0, 2], [1, 3]]}'
