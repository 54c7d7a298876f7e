#!/usr/bin/env bash
# Outside the program: the outputs of every strategy of the photo sample are attention.
# labels: extended
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "$samples/photo.toml" --set run.repeats=1 --dump dump
check_dump dump 5e-5
[ "$(wc -l <errors)" -ge 3 ] || fail "fewer than three outputs were checked"
