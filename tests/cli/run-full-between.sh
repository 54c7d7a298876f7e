#!/usr/bin/env bash
# A disk that becomes full after the first strategy of a run was executed: the plan of the next one ends the run, as a full
# disk does, and what was recorded is kept.
. "$(dirname -- "$0")/common.inc"

# full_run ARGUMENT...: the disk is full once the outputs of ring are dumped.
full_run() {
  code=0
  INJECT_FULL_WITH=$PWD/dump/layer-0/o-ring.npy LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring -s ulysses "${small[@]}" \
    --set cluster.ranks=3 --dump dump "$@" >"$out" 2>"$err" || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code"
  expect_err 'SPS-154' 'the rest of the run with ' ' bytes in ' "$TMPDIR/spscope-" ' and 0 are free'
  expect_no_scratch
  rm -r -- dump
}

full_run -o kept.db
expect_err "$PWD/kept.db" 'kept.db'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT count(*) > 0 AND sum(stored) = (SELECT count(*) FROM event) AND sum(stored) = sum(sent) FROM ledger" --csv
expect_out '1'
expect_exit 0 sql kept.db "SELECT message FROM incident"
expect_out 'the rest of the run'
rm -- kept.db
full_run
expect_no_files
