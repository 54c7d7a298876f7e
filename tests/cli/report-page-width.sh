#!/usr/bin/env bash
# A report is readable in a narrow and in a wide window: a browser lays it out, and nothing is cut, beyond the window or
# over something else.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
command -v chromium >/dev/null || skip "chromium is not there"

expect_exit 0 run --set run.mode=simulate --set model.preset=wan2.1-t2v-14b --set cluster.preset=p4de-xN \
  --set cluster.ranks=16 --set mask.pattern=paro --set run.denoise_steps=2 --set run.layers=8 -o many.db
expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=2 -o photo.db
expect_exit 0 run "${small[@]}" --set cluster.ranks=3 --set run.repeats=2 -s ring -s dbsp -o executed.db

# check WINDOW FILE: the page as a browser of that width shows it
check() {
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$temporary/browser" \
    --window-size="$1",900 --dump-dom "file://$PWD/$2" >shown.html 2>"$err" || fail "chromium ended with an error"
  sed -n '/<pre id="faults">/,/<\/pre>/p' shown.html >"$out"  # the script itself stands in the page too
  expect_out "bars in a window of $1 px"
  expect_not_out 'looked at 0 bars'
  expect_not_out 'fault: '
}

for run in many photo executed; do
  expect_exit 0 report "$run.db" -o "$run.html"
  sed -i '/<\/body>/d; /<\/html>/d' "$run.html"
  { printf '<script>\n' && cat "$scripts/page_faults.js" && printf '</script>\n</body>\n</html>\n'; } >>"$run.html"
  for window in 500 700 1200; do check "$window" "$run.html"; done
done
