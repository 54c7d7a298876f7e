#!/usr/bin/env bash
# Every name in a store is an attack: on its page they are text, no cell of its tables is a formula, and, wide, none runs in a
# browser, which has nothing to say, in light, in dark and on paper.
# labels: hostile wide
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run --set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=12 --set run.denoise_steps=2 \
  --set run.layers=2 -s ulysses -s ring -s usp -s dsp -o plain.db
cp plain.db hostile.db
python3 -B "$scripts/hostile_names.py" edit hostile.db
for run in plain hostile; do
  expect_exit 0 report "$run.db" -o "$run.html"
  expect_exit 0 report "$run.db" --format csv -o "$run"
done
python3 -B "$scripts/hostile_names.py" page plain.html hostile.html || fail "a name is more than text"
expect_exit 0 sql hostile.db 'SELECT * FROM strategy' --csv
cp "$out" hostile/sql.csv
python3 -B "$scripts/hostile_names.py" tables hostile || fail "a cell is a formula"

# What commands print of them, and of a value that is no number.
cp hostile.db parameter.db
edit parameter.db "UPDATE strategy_parameter SET value = 'x' || char(10) || 'error SPS-999: faked'"
for asked in 'compare hostile.db' 'compare plain.db hostile.db' 'explain hostile.db --all' 'doctor hostile.db' 'report hostile.db' \
  'report plain.db hostile.db' 'sql hostile.db SELECT*FROM+strategy' 'compare hostile.db --json' 'doctor hostile.db --json' \
  'explain hostile.db --json' 'mask info hostile.db' 'compare parameter.db' 'doctor parameter.db'; do
  read -ra words <<<"$asked"
  spscope "${words[@]//+/ }"
  cat "$out" "$err" >>printed
done
python3 -B "$scripts/hostile_names.py" texts printed hostile.html || fail "not all is text"

[ -n "${WIDE:-}" ] || exit 0
command -v chromium >/dev/null || skip "chromium is not there; all but the browser was tested"
{
  printf '<!doctype html><meta charset="utf-8"><body><pre id="found">\n</pre>\n'
  for width in 360 1000 1600; do
    printf '<iframe src="hostile.html" width="%s" height="900" style="border: 0"></iframe>\n' "$width"
  done
  cat <<'SCRIPT'
<script>
addEventListener("load", () => {
  const lines = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    for (const element of page.querySelectorAll("body *")) element.dispatchEvent(new frame.contentWindow.MouseEvent("mouseover", { bubbles: true }));
    for (const button of page.querySelectorAll("button, input")) button.click();
    if (frame.contentWindow.owned !== undefined || window.owned !== undefined) lines.push("fault: an attack ran");
    if (page.querySelectorAll("script").length !== 1) lines.push("fault: not one script");
    if (page.querySelectorAll("section").length < 5) lines.push("fault: the page ends early");
    lines.push("used the page in a window of " + frame.width + " px, " + (frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  }
  document.getElementById("found").textContent = lines.join("\n");
});
</script></body>
SCRIPT
} >frames.html
# 0: dark, 1: light
for scheme in 0 1; do
  browse --window-size=1680,3000 --blink-settings=preferredColorScheme=$scheme --dump-dom
  [ ! -s "$err" ] || fail "the console has messages"
  expect_not_out 'fault: '
  for width in 360 1000 1600; do
    expect_out "used the page in a window of $width px, $([ $scheme = 0 ] && echo dark || echo light)"
  done
done
browse --print-to-pdf=page.pdf
[ "$(head -c 5 page.pdf)" = '%PDF-' ] || fail "nothing was printed"
