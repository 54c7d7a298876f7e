#!/usr/bin/env bash
# The clock of the day steps an hour back in the middle of a run: times are of a clock that no step moves.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

export INJECT_CLOCK_STEP_S=-3600 INJECT_CLOCK_AFTER_MS=100
LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=100 --headless -o kept.db >"$out" 2>"$err" ||
  code=$?
unset INJECT_CLOCK_STEP_S INJECT_CLOCK_AFTER_MS
[ "$code" -eq 0 ] || fail "exit code $code"
expect_exit 0 sql kept.db "SELECT CASE WHEN min(end_ns - begin_ns) >= 0 AND max(end_ns) - min(begin_ns) BETWEEN 1 AND 120e9
  THEN 'in order' ELSE 'out of order' END FROM event"
expect_out 'in order'
expect_exit 0 sql kept.db "SELECT CASE WHEN sum(sent) = sum(stored) THEN 'none lost' END FROM ledger"
expect_out 'none lost'
