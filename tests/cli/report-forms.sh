#!/usr/bin/env bash
# A report is one HTML page without outside parts, Markdown or JSON, by the name of its file or by --format.
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=1 -o kept.db
expect_exit 0 report kept.db -o page.html
grep -qi '^<!doctype html>' page.html || fail "no HTML page"
! grep -iE '<link|src=|https?://' page.html | grep -qvE 'src="data:image/png;base64,' || fail "the page needs outside parts"
grep -q 'usp u4 r2' page.html || fail "a strategy is missing"
expect_exit 0 report kept.db --format markdown
expect_out 'usp u4 r2' '|'
expect_exit 0 report kept.db -o page.md
[ -s page.md ] || fail "no Markdown file"
expect_exit 0 report kept.db --format json
cp "$out" said
expect_exit 0 compare kept.db --json
cmp "$out" said || fail "the JSON of report and compare differ"
expect_files kept.db page.html page.md said
