#!/usr/bin/env bash
# plan --ops prints each op of each plan on a line of its own, the same bytes every time, and dependencies lead back.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan "$samples/photo.toml" --ops
cp "$out" first
expect_exit 0 plan "$samples/photo.toml" --ops
cmp "$out" first || fail "two plans of one config differ"
expect_out '# ulysses: ' '# ring: ' '# usp: ' 'attend step 0' 'exchange'
python3 -B "$scripts/check_plan_text.py" ops first || fail "not a list of ops"

# As JSON: the same ops, and the makespan that a simulated run reports.
expect_exit 0 run "$samples/photo.toml" --set run.mode=simulate --set run.repeats=1 -s ring --json
cp "$out" simulated
expect_exit 0 plan "$samples/photo.toml" -s ring --ops --json
expect_json 'd["plans"][0]["strategy"] == "ring"' 'd["cluster"]["node_of_rank"] == [0, 0, 0, 0]' \
  "len(d['plans'][0]['ops']) == $(sed -n '/^# ring: /s/^# ring: \([0-9]*\) ops.*/\1/p' first)" \
  "d['plans'][0]['makespan_ns'] == $(python3 -c 'import json; print(json.load(open("simulated"))["strategies"][0]["makespan_ns"])')"
