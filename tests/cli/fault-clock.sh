#!/usr/bin/env bash
# Clocks that step and clocks that stand still.
# labels: extended
# cost: 15
. "$(dirname -- "$0")/common.inc"

part steps
# The clock of the day steps an hour back, or forward, in the middle of a run: recorded times are of a clock that no step
# moves, so events stay in order, no time is longer than the run itself took, and nothing is lost.
uptime_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }
export INJECT_CLOCK_AFTER_MS=20 INJECT_CLOCK_SEEN=$temporary/seen
for step_s in -3600 3600; do
  rm -f -- kept.db "$INJECT_CLOCK_SEEN"
  begin_ms=$(uptime_ms)
  INJECT_CLOCK_STEP_S=$step_s LD_PRELOAD=$INJECT expect_code 0 "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=2 \
    --set run.denoise_steps=100 --headless -o kept.db
  took_ns=$((($(uptime_ms) - begin_ms + 20) * 1000000)) # /proc/uptime counts hundredths of a second
  [ -e "$INJECT_CLOCK_SEEN" ] || fail "the program never looked at the clock after its step of $step_s s"

  # Events were recorded before the step and after it, in no more time than there was.
  expect_sql kept.db 1 "SELECT max(end_ns) - min(begin_ns) BETWEEN 40e6 AND $took_ns FROM event"
  expect_sql kept.db 0 "SELECT count(*) FROM (SELECT begin_ns - lag(end_ns) OVER (PARTITION BY rank, lane, slot
    ORDER BY begin_ns, end_ns) AS gap, end_ns - begin_ns AS length FROM event) WHERE gap < 0 OR length < 0"
  expect_sql kept.db 0 'SELECT count(*) FROM event WHERE clamped'
  expect_sql kept.db 0 "SELECT count(*) FROM repeat WHERE makespan_ns NOT BETWEEN 1 AND $took_ns"
  # No clock was fitted to the step.
  expect_sql kept.db 0 "SELECT count(*) FROM clock_fit WHERE max(abs(offset_ns), bound_ns) > $took_ns OR abs(drift) > 0.0005"
  expect_sql kept.db 100 'SELECT count(*) FROM run WHERE finished'
  expect_sql kept.db 1 "SELECT sum(sent) = sum(stored) AND sum(stored) = (SELECT sum(num_ops) FROM run JOIN plan USING (plan_id))
    FROM ledger"
  expect_exit 0 doctor kept.db
done

part stands-still
# Where times of exchanges do not follow from their bytes, calibrate says what it could not measure, shows no number for
# it, writes no profile, and fails; what it measured is still shown. The clock stands still between its ticks here, so
# that all exchanges seem to take no time.
# calibrate_by_ticks FLAG...
calibrate_by_ticks() {
  INJECT_CLOCK_TICK_MS=500 LD_PRELOAD=$INJECT expect_code 1 "$SPSCOPE" calibrate --seconds 1 "$@"
  expect_err 'network.link_gbps and network.intra_latency_ns'
  expect_no_files
}

calibrate_by_ticks -o mine.toml
expect_out 'unmeasured GB/s' 'unmeasured us' 'network.compute_slowdown' 'device.memory_gib'
! grep -q 'wrote' "$out" || fail "said to be written"
calibrate_by_ticks -o mine.toml --json
expect_json 'all(d["numbers"][n] == {"value": None, "source": "not measured: lost in noise", "spread": None}
  for n in ("network.link_gbps", "network.intra_latency_ns"))' 'd["file"] == ""' 'd["numbers"]["device.memory_gib"]["value"] > 0'
