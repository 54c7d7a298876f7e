#!/usr/bin/env bash
# `run --what-if`: the run as it is, and beside it the same on other hardware; figures as SVG files.
. "$(dirname -- "$0")/common.inc"

run=(run --set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set model.head_dim=24 -s ring -s ulysses)
expect_exit 0 "${run[@]}" --what-if link=0.01 -o kept.db
expect_out 'What if link=0.01' 'as it is' 'what if' 'With link=0.01, '
expect_exit 0 "${run[@]}" --what-if kernel=2,density=0.1 --json
expect_json 'len(d["comparisons"]) == 2' 'd["comparisons"][1]["file"] == "what if kernel=2,density=0.1"' \
  'd["comparisons"][1]["workload"]["density"] < 0.2 < d["comparisons"][0]["workload"]["density"]'

# What is kept is the run as it is.
expect_exit 0 compare kept.db --json
cp "$out" kept.json
expect_exit 0 "${run[@]}" --json
python3 - "$out" kept.json <<'PYTHON' || fail "a what-if changes what is kept"
import json, sys
plain, kept = ([s["makespan_ns"] for s in json.load(open(f))["strategies"]] for f in sys.argv[1:])
assert plain == kept
PYTHON

expect_exit 0 report kept.db --figures figures
ls figures/*.svg >/dev/null || fail "there are no figures"
for figure in figures/*.svg; do
  grep -q '>wan-mini, .* x h100</text>' "$figure" || fail "a figure does not say its model and cluster"
done
expect_refused 'the file exists' -- report kept.db --figures figures
expect_exit 0 report kept.db --figures figures --force -o kept.html

expect_refused 'did you mean "link"?' -- "${run[@]}" --what-if lnk=2
expect_refused 'link is given twice, as "0.5" and as "2"' 'give link once' -- "${run[@]}" --what-if link=0.5,link=2
expect_refused 'add --set run.mode=simulate' -- run --what-if link=2
