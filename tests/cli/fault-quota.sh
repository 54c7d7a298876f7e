#!/usr/bin/env bash
# A quota that is used up while OUT is merged: the run fails, names OUT and the bytes that its disk has free, leaves no
# part of it, and keeps what was collected. When there is room, the command that it gave makes the file, with every event
# that the shards had committed, which are those of a run without a fault.
. "$(dirname -- "$0")/common.inc"

job=(-s ring "${small[@]}" --set cluster.ranks=2 --set run.layers=3)
# What ran, without its times.
told() { expect_exit 0 sql "$1" 'SELECT run_id, rank, lane, op_id, name FROM event ORDER BY 1, 2, 3, 4' --csv; }
expect_exit 0 run "${job[@]}" -o whole.db
told whole.db
cp "$out" whole.csv

for errno in 122 28; do # EDQUOT, ENOSPC
  rm -rf -- kept.db kept.db.collecting "$TMPDIR"/spscope-*
  export INJECT_ERRNO=$errno INJECT_PATH=kept.db.tmp INJECT_AFTER=40000
  code=0
  LD_PRELOAD=$INJECT "$SPSCOPE" run "${job[@]}" --headless -o kept.db >"$out" 2>"$err" || code=$?
  unset INJECT_ERRNO INJECT_PATH INJECT_AFTER
  [ "$code" -eq 1 ] || fail "exit code $code, not 1"
  folder=$(echo "$TMPDIR"/spscope-kept-*)
  expect_err 'SPS-154' 'cannot write "kept.db"' 'spscope recover'
  [ "$errno" -ne 122 ] || expect_err 'Disk quota exceeded'
  [ "$errno" -ne 28 ] || expect_err 'disk is full'
  grep -qE '[0-9]+ bytes' "$err" || fail "the error has no bytes"
  if [ -e kept.db ] || [ -e kept.db.tmp ]; then fail "a part of the file was left"; fi

  committed=$(python3 -B -c '
import sqlite3, sys
print(sum(sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("SELECT sum(count) FROM chunk").fetchone()[0] or 0
          for path in sys.argv[1:]))' "$folder"/kept.rank-*.db)
  [ "$committed" -eq $(($(wc -l <whole.csv) - 1)) ] || fail "$committed events were committed"
  # The command of the message, as it stands there.
  command=$(sed 's/\\"/"/g' "$err" | grep -o 'spscope recover "[^"]*" -o FILE.db' | head -n 1)
  [ -n "$command" ] || fail "the error gives no command to recover with"
  eval "expect_exit 0 ${command#spscope } --json"
  expect_json "d['events'] == $committed" 'd["unreadable"] == d["dropped"] == d["lost"] == d["unfinished"] == 0'
  expect_exit 0 doctor FILE.db
  expect_exit 0 sql FILE.db "SELECT 'runs ' || count(*) FROM run WHERE finished"
  expect_out 'runs 3'
  told FILE.db
  cmp "$out" whole.csv || fail "other events than without a fault"
  rm FILE.db
done
