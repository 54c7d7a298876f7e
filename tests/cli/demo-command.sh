#!/usr/bin/env bash
# What scripts/demo shows of programs that are built: an answer, a run whose outputs are right, and commands that exist, in 45
# lines with the three of its steps.
. "$(dirname -- "$0")/common.inc"

[ "$SPSCOPE" -ef "$SOURCE_DIR/build/bin/spscope" ] || skip "scripts/demo shows the programs of the preset once, in build/bin"
[ -e "$SOURCE_DIR/build/share/spscope/demo.db" ] || skip "the target demo_programs is not built"
DISPLAY='' WAYLAND_DISPLAY='' "$SOURCE_DIR/scripts/demo" --built >"$out" || fail "the demo ended with $?"
[ "$(wc -l <"$out")" -le 43 ] || fail "with the steps of set-up and build it prints over 45 lines"
expect_out 'Use ' '* the one to use' 'largest error' '  spscope explain build/demo/demo.db'
[ "$(grep -cw passed "$out")" -eq 5 ] || fail "not all five outputs passed"
[ -s "$SOURCE_DIR/build/demo/demo.html" ] || fail "the page that it names is not there"
