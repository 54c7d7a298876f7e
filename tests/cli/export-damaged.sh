#!/usr/bin/env bash
# A stored run whose events are damaged is not exported: the fault is named and nothing is left.
# labels: hostile
. "$(dirname -- "$0")/common.inc"

expect_exit 0 run "${small[@]}" -s ring -o run.db
cp run.db sound.db
for change in 'crc32c = crc32c + 1' 'count = count + 1' 'track_id = 999' "data = x'00'"; do
  cp sound.db run.db
  python3 -B "$scripts/edit_store.py" run.db "UPDATE chunk SET $change WHERE chunk_id = (SELECT max(chunk_id) FROM chunk)"
  for format in plain-sqlite csv store chrome; do
    spscope export run.db --format "$format" -o out
    [ "$code" -ne 0 ] || fail "exported with $change"
    expect_err 'SPS-156' 'run.db'
  done
  spscope sql run.db 'SELECT sum(count) FROM event_stats'
  [ "$code" -ne 0 ] || fail "summed with $change"
  expect_err 'SPS-156'
done
expect_files run.db sound.db
