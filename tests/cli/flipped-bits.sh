#!/usr/bin/env bash
# One flipped bit anywhere in a stored run is refused by every command that
# reads it, or changes nothing that it prints, and recover makes no figure up.
# labels: extended
. "$(dirname -- "$0")/common.inc"

passes=(--set run.layers=2 --set run.denoise_steps=2 --set cluster.ranks=2)
expect_exit 0 run "${small[@]}" "${passes[@]}" --set run.repeats=2 -s ring -s ulysses -o threads.db
expect_exit 0 run "${small[@]}" "${passes[@]}" --set run.mode=simulate -s ring -s ulysses -o simulated.db
python3 -B "$scripts/flip_bits.py" "$SPSCOPE" 60 threads.db simulated.db >"$out" 2>"$err" ||
  fail "a flipped bit went unnoticed"
expect_out ' flipped bits'
