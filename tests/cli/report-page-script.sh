#!/usr/bin/env bash
# In a browser: the page of a report sorts its tables, links its charts, zooms its timeline and goes through denoise steps;
# the same page with scripts off shows all of that content; and neither says a word on the console.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
command -v chromium >/dev/null || skip "chromium is not there"

expect_exit 0 run "$samples/demo.toml" -o demo.db
expect_exit 0 report demo.db -o demo.html
[ "$(stat -c %s demo.html)" -lt 2000000 ] || fail "the page is larger than 2 MB"
# A page around two frames, one of which may not run scripts, looks into them.
{
  printf '<!doctype html><meta charset="utf-8"><body><pre id="found">\n</pre>\n'
  printf '<iframe name="scripts" src="demo.html" width="1200" height="900"></iframe>\n'
  printf '<iframe name="none" src="demo.html" width="1200" height="900" sandbox="allow-same-origin"></iframe>\n<script>\n'
  cat "$scripts/page_use.js"
  printf '</script></body>\n'
} >frames.html
chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --enable-logging=stderr --v=0 \
  --user-data-dir="$temporary/browser" --window-size=1280,2000 --dump-dom "file://$PWD/frames.html" >shown.html 2>log ||
  fail "chromium ended with an error"
sed -n '/<pre id="found">/,/<\/pre>/p' shown.html >"$out"
# The one message is that scripts are off, where they are.
grep 'CONSOLE' log | grep -v 'frame is sandboxed' >"$err" || true
[ ! -s "$err" ] || fail "the console has messages"
expect_not_out 'fault: '
expect_out 'used the page with scripts' 'saw the page without scripts'
