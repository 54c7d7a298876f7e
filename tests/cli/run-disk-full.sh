#!/usr/bin/env bash
# A disk that becomes full, wherever the run is then, and a folder of --dump that can no longer be written: the run ends and
# says what has no room, with bytes; what was recorded is kept, in OUT where that can be written, else by the command that the
# message gives. Where nothing was recorded, or nothing is to be kept, nothing is left.
. "$(dirname -- "$0")/common.inc"
recorded='SELECT count(*) > 0 AND sum(stored) = (SELECT count(*) FROM event) AND sum(sent) = sum(stored) FROM ledger'

# kept_saying TEXT: kept.db is whole but for what came later, and has this incident.
kept_saying() {
  expect_err 'kept.db'
  expect_no_scratch
  expect_exit 0 doctor kept.db
  expect_sql kept.db 1 "$recorded"
  expect_exit 0 sql kept.db "SELECT message FROM incident"
  expect_out "$1"
  rm kept.db
}

part dump
# EACCES once so many bytes of the dump are written.
mkdir dump
export INJECT_ERRNO=13 INJECT_PATH=/dump/
dumping=(-s ring "${small[@]}" --set run.layers=3 --dump dump)
INJECT_AFTER=60000 LD_PRELOAD=$INJECT expect_code 2 "$SPSCOPE" run "${dumping[@]}" -o kept.db
expect_err 'Permission denied' '"dump/layer-'
[ -e dump/layer-1 ] || fail "the run failed before its first layer"
kept_saying 'Permission denied'
for more in '0 -o kept.db' 60000; do
  read -r bytes keep <<<"$more"
  rm -r dump/*
  # shellcheck disable=SC2086  # a flag and its value, or nothing
  INJECT_AFTER=$bytes LD_PRELOAD=$INJECT expect_code 2 "$SPSCOPE" run "${dumping[@]}" $keep
  [ ! -e kept.db ] || fail "a file was left that has no events, or that nobody asked for"
  expect_no_scratch
done
unset INJECT_ERRNO INJECT_PATH

part between
# The disk is full once the outputs of the first strategy are dumped: the plan of the next one ends the run.
for keep in '-o kept.db' ''; do
  # shellcheck disable=SC2086  # a flag and its value, or nothing
  INJECT_FULL_WITH=$PWD/dump/layer-0/o-ring.npy LD_PRELOAD=$INJECT expect_code 1 "$SPSCOPE" run -s ring -s ulysses "${small[@]}" \
    --set cluster.ranks=3 --dump dump $keep
  expect_err 'SPS-154' 'the rest of the run with ' ' bytes in ' "$TMPDIR/spscope-" ' and 0 are free'
  rm -r -- dump
  [ -z "$keep" ] || kept_saying 'the rest of the run'
done
expect_no_files

part merge
# The quota is used up while OUT is merged: what was collected stays, and when there is room, the command of the message
# makes the file, with every event that the shards had committed, which are those of a run without a fault.
job=(-s ring "${small[@]}" --set cluster.ranks=2 --set run.layers=3)
told() { expect_exit 0 sql "$1" 'SELECT run_id, rank, lane, op_id, name FROM event ORDER BY 1, 2, 3, 4' --csv; } # without times
expect_exit 0 run "${job[@]}" -o whole.db
told whole.db
cp "$out" whole.csv
while read -r errno text; do
  rm -rf -- kept.db.collecting "$TMPDIR"/spscope-*
  INJECT_ERRNO=$errno INJECT_PATH=kept.db.tmp INJECT_AFTER=40000 LD_PRELOAD=$INJECT expect_code 1 \
    "$SPSCOPE" run "${job[@]}" --headless -o kept.db
  expect_err 'SPS-154' 'cannot write "kept.db"' 'spscope recover' "$text"
  grep -qE '[0-9]+ bytes' "$err" || fail "the error has no bytes"
  if [ -e kept.db ] || [ -e kept.db.tmp ]; then fail "a part of the file was left"; fi
  # The command of the message, as it stands there.
  command=$(sed 's/\\"/"/g' "$err" | grep -o 'spscope recover "[^"]*" -o FILE.db' | head -n 1)
  [ -n "$command" ] || fail "the error gives no command to recover with"
  eval "expect_exit 0 ${command#spscope } --json"
  expect_json "d['events'] == $(($(wc -l <whole.csv) - 1))" 'd["unreadable"] == d["dropped"] == d["lost"] == d["unfinished"] == 0'
  expect_exit 0 doctor FILE.db
  expect_sql FILE.db 3 'SELECT count(*) FROM run WHERE finished'
  told FILE.db
  cmp "$out" whole.csv || fail "other events than without a fault"
  rm FILE.db
done <<'END'
122 Disk quota exceeded
28 disk is full
END
