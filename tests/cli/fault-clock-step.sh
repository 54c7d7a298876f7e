#!/usr/bin/env bash
# The clock of the day steps an hour back, or forward, in the middle of a run: recorded times are of a clock that no step
# moves, so events stay in order, no time is longer than the run itself took, and nothing is lost.
# labels: extended
. "$(dirname -- "$0")/common.inc"

uptime_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
# expect_answer WANTED SQL: of one column and row, about kept.db.
expect_answer() {
  expect_sql kept.db "$1" "$2"
}

export INJECT_CLOCK_AFTER_MS=20 INJECT_CLOCK_SEEN=$temporary/seen
for step_s in -3600 3600; do
  rm -f -- kept.db "$INJECT_CLOCK_SEEN"
  code=0
  begin_ms=$(uptime_ms)
  INJECT_CLOCK_STEP_S=$step_s LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=2 \
    --set run.denoise_steps=100 --headless -o kept.db >"$out" 2>"$err" || code=$?
  took_ns=$((($(uptime_ms) - begin_ms + 20) * 1000000)) # /proc/uptime counts hundredths of a second
  [ "$code" -eq 0 ] || fail "exit code $code after a step of $step_s s"
  [ -e "$INJECT_CLOCK_SEEN" ] || fail "the program never looked at the clock after its step of $step_s s"

  # Events were recorded before the step and after it, in no more time than there was.
  expect_answer 1 "SELECT max(end_ns) - min(begin_ns) BETWEEN 40e6 AND $took_ns FROM event"
  expect_answer 0 "SELECT count(*) FROM (SELECT begin_ns - lag(end_ns) OVER (PARTITION BY rank, lane, slot
    ORDER BY begin_ns, end_ns) AS gap, end_ns - begin_ns AS length FROM event) WHERE gap < 0 OR length < 0"
  expect_answer 0 'SELECT count(*) FROM event WHERE clamped'
  expect_answer 0 "SELECT count(*) FROM repeat WHERE makespan_ns NOT BETWEEN 1 AND $took_ns"
  # No clock was fitted to the step.
  expect_answer 0 "SELECT count(*) FROM clock_fit WHERE max(abs(offset_ns), bound_ns) > $took_ns OR abs(drift) > 0.0005"
  expect_answer 100 'SELECT count(*) FROM run WHERE finished'
  expect_answer 1 "SELECT sum(sent) = sum(stored) AND sum(stored) = (SELECT sum(num_ops) FROM run JOIN plan USING (plan_id))
    FROM ledger"
  expect_exit 0 doctor kept.db
done
