#!/usr/bin/env bash
# A report of several files has a part for each, and what changed where `compare` compares them, else why not.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

model=(--set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 -s ulysses -s ring)
expect_exit 0 run "${model[@]}" -o before.db
expect_exit 0 run "${model[@]}" --set run.seed=2 -o after.db
expect_exit 0 run "${model[@]}" --set run.denoise_steps=2 -o other.db
expect_exit 0 report before.db after.db --format markdown
cp "$out" report.md
expect_out '## before.db: ' '## after.db: ' '## From before.db to after.db' 'run.seed'
expect_exit 0 compare before.db after.db --json
python3 - "$out" report.md <<'END' || fail "the changes are not those of compare"
import json, sys
text = open(sys.argv[2]).read().partition("## From before.db")[2].partition("What the numbers mean")[0]
changes = json.load(open(sys.argv[1]))["changes"]
assert changes and all(c["label"] in text for c in changes)
END
expect_exit 0 report before.db other.db --format markdown
expect_out '## From before.db to other.db' 'the files hold different workloads: denoise'
expect_exit 0 report before.db after.db -o page.html
grep -q 'From before.db to after.db' page.html || fail "the page lacks what changed"
