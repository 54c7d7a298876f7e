#!/usr/bin/env bash
# A report replaces an earlier one only with --force, and never a stored run; an output that cannot be written leaves
# nothing.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -o kept.db
cp kept.db copy.db
lines page.html 'mine'
expect_exit 2 report kept.db -o page.html
expect_err 'SPS-153' '--force'
[ "$(cat page.html)" = mine ] || fail "the page was replaced"
expect_exit 0 report kept.db -o page.html --force
grep -q '<html' page.html || fail "the page was not replaced"
expect_exit 2 report kept.db -o copy.db --format html --force
cmp kept.db copy.db || fail "a stored run was replaced"
for path in missing/page.html page.html/page.html /proc/page.html; do
  expect_exit 2 report kept.db -o "$path"
  expect_err 'SPS-15'
done
expect_refused '--format' -- report kept.db -o page.txt
expect_exit 2 report kept.db --json -o page.html --force
expect_err '--json' 'page.html'
expect_exit 2 report kept.db --json --format html
expect_err '--format html'
expect_exit 0 report kept.db -o page.html --force
expect_err 'wrote page.html'
expect_files kept.db copy.db page.html
