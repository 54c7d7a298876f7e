#!/usr/bin/env bash
# The page of the demo in a browser that is watched from outside: light, dark and on paper, in narrow and wide windows, it
# asks for nothing, says nothing and is no wider than its window; its figures are those of compare; a pointer and keys do
# what they promise; without scripts it shows all.
# labels: extended
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
command -v chromium >/dev/null || skip "chromium is not there"

expect_exit 0 run "$samples/demo.toml" -o demo.db
expect_exit 0 report demo.db -o demo.html
[ "$(stat -c %s demo.html)" -lt 2000000 ] || fail "the page is larger than 2 MB"
expect_exit 0 compare demo.db --json
cp "$out" said.json
python3 -B "$scripts/page_demo.py" demo.html said.json "$temporary/browser" >"$out" 2>"$err" || fail "the page is not as it should be"
