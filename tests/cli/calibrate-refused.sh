#!/usr/bin/env bash
# Where times of exchanges do not follow from their bytes, calibrate says what it could not measure, shows no number for
# it, writes no profile, and fails; what it measured is still shown. The clock stands still between its ticks here, so
# that all exchanges seem to take no time.
# labels: extended
# cost: 15
. "$(dirname -- "$0")/common.inc"

# calibrate_by_ticks FLAG...
calibrate_by_ticks() {
  INJECT_CLOCK_TICK_MS=500 LD_PRELOAD=$INJECT expect_code 1 "$SPSCOPE" calibrate --seconds 1 "$@"
  expect_err 'network.link_gbps, network.intra_latency_ns'
  expect_no_files
}

calibrate_by_ticks -o mine.toml
expect_out 'unmeasured GB/s' 'unmeasured us' 'network.compute_slowdown' 'device.memory_gib'
! grep -q 'wrote' "$out" || fail "said to be written"
calibrate_by_ticks -o mine.toml --json
expect_json 'all(d["numbers"][n] == {"value": None, "source": "not measured: lost in noise"}
  for n in ("network.link_gbps", "network.intra_latency_ns"))' 'd["file"] == ""' 'd["numbers"]["device.memory_gib"]["value"] > 0'
