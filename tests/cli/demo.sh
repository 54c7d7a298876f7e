#!/usr/bin/env bash
# The demo shows what it is for: a strategy that waits for one rank, whose heads have many more tiles, in a small file. In a
# browser its page has the figures of compare, sorts its tables, links its charts, zooms its timeline and goes through denoise
# steps; the same page with scripts off shows all of that content; and neither says a word on the console.
# labels: wide
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "$samples/demo.toml" -o demo.db --json
expect_json 'len(d["strategies"]) == 5' 'all(x["legal"] for x in d["strategies"])' \
  '[len(x["by_layer"]) for x in d["strategies"]] == [6] * 5' \
  's["ulysses"]["why_slower"]["cause"] == "late_rank"' \
  's["ulysses"]["why_slower"]["late_rank"]["rank"] == 5' \
  's["ulysses"]["why_slower"]["late_rank"]["heads"] == "25-29"' \
  's["ulysses"]["why_slower"]["late_rank"]["more_tiles"] > 0.3' \
  'd["verdicts"][0]["fastest"] == "dbsp"'
[ "$(stat -c %s demo.db)" -lt 2000000 ] || fail "the demo is larger than 2 MB"
expect_exit 0 report demo.db -o demo.html
[ "$(stat -c %s demo.html)" -lt 2000000 ] || fail "the page is larger than 2 MB"
# It holds attention alone, and says so beside an error that is one of whole layers. Noise is neither a number nor a sentence.
expect_exit 0 explain demo.db
expect_out 'The attention of one layer at one denoise step' ' % of a whole layer' 'The rest of a layer takes about ' 'Without that it would'
expect_not_out 'is below 0' '  other'
expect_exit 0 report demo.db
expect_out 'Compute, late peer and wire are means'
expect_not_out '| wire | other | imbalance'
expect_exit 0 compare demo.db --json
[ -n "${WIDE:-}" ] || exit 0
command -v chromium >/dev/null || skip "chromium is not there; all but the browser was tested"

# A page around two frames, one of which may not run scripts, looks into them.
{
  printf '<!doctype html><meta charset="utf-8"><body><pre id="found">\n</pre>\n'
  printf '<iframe name="scripts" src="demo.html" width="1200" height="900"></iframe>\n'
  printf '<iframe name="none" src="demo.html" width="1200" height="900" sandbox="allow-same-origin"></iframe>\n<script>\n'
  printf 'const compared = ' && cat "$out" && cat "$scripts/page_use.js"
  printf '</script></body>\n'
} >frames.html
browse --window-size=1280,2000 --dump-dom
# The one message is that scripts are off, where they are.
[ "$(grep -vc 'frame is sandboxed' "$err")" -eq 0 ] || fail "the console has messages"
expect_not_out 'fault: '
expect_out 'used the page with scripts' 'saw the page without scripts'
