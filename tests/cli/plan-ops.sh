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
