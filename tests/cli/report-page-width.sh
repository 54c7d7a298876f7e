#!/usr/bin/env bash
# A report is readable in a narrow and in a wide window: a browser lays it out, and nothing is cut, beyond the window or
# over something else.
# labels: extended
# cost: 30
. "$(dirname -- "$0")/common.inc"
command -v chromium >/dev/null || skip "chromium is not there"

expect_exit 0 run --set run.mode=simulate --set model.preset=wan2.1-t2v-14b --set cluster.preset=p4de-xN \
  --set cluster.ranks=16 --set mask.pattern=paro --set run.denoise_steps=2 --set run.layers=8 -o many.db
expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=2 -o photo.db
expect_exit 0 run "${small[@]}" --set cluster.ranks=3 --set run.repeats=2 -s ring -s dbsp -o executed.db

# What collectors saw of a program with a path that has no place to break.
cp executed.db observed.db
"$python" -B "$SOURCE_DIR/tests/gui/observed_file.py" observed.db
edit observed.db "UPDATE workload SET config_toml =
  'python3 /shared/experiments/sequence_parallelism/wan2.1-t2v-14b/train.py --steps 100'"

# One page with a frame for each report and width, so that the browser starts once. page_faults.js fills `found` there.
expect_exit 0 run "$samples/demo.toml" -o demo.db
runs=(many photo executed demo observed)
widths=(360 500 700 960 1600)
{
  printf '<!doctype html><meta charset="utf-8"><body><pre id="found">\n</pre>\n'
  for run in "${runs[@]}"; do
    for width in "${widths[@]}"; do
      printf '<iframe name="%s" src="%s.html" width="%s" height="900" style="border: 0"></iframe>\n' "$run" "$run" "$width"
    done
  done
} >frames.html
for run in "${runs[@]}"; do
  expect_exit 0 report "$run.db" -o "$run.html"
  # The policy of the page would refuse the script that looks at it.
  sed -i '/<\/body>/d; /<\/html>/d; /Content-Security-Policy/d' "$run.html"
  { printf '<script>\n' && cat "$scripts/page_faults.js" && printf '</script>\n</body>\n</html>\n'; } >>"$run.html"
done
browse --hide-scrollbars --window-size=1680,38000 --dump-dom
for run in "${runs[@]}"; do
  for width in "${widths[@]}"; do expect_out "bars of $run in a window of $width px"; done
done
for run in many photo executed demo; do expect_not_out "looked at 0 bars of $run "; done
expect_not_out 'fault: '
