#!/usr/bin/env bash
# A run that is killed is recovered by the path it was given, by its .collecting file and by its folder; while it runs it
# is not touched. Its shards stay until the user removes them, and recover lists what that is. A comparison of a run that
# has finished no layer says so.
. "$(dirname -- "$0")/common.inc"

# Minutes of work, of which some passes are recorded before it is killed.
begin run --set model.grid=6,20,20 --set model.heads=4 --set model.head_dim=32 --set run.mode=execute --set run.repeats=1000 \
  --set run.warmup=0 --set cluster.ranks=2 -s ring -o today.db
recorded() {
  spscope recover today.db.collecting -o never.db
  local shards=("$TMPDIR"/*/*.rank-*.db)
  [ -e "${shards[0]}" ] && [ "$(python3 -B -c '
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT count(*) FROM chunk").fetchone()[0])
' "${shards[0]}" 2>/dev/null || echo 0)" -gt 3 ]
}
wait_for recorded
expect_refused 'SPS-155' "process $pid" -- recover today.db -o never.db
expect_refused 'SPS-150' "spscope watch \"$PWD/today.db.collecting\"" -- compare today.db
kill -9 "$pid"
wait "$pid" 2>/dev/null || true

folder=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -type d)
# Who reads the file that was not made is told what is there, and the whole command that makes the file.
make="make the file with: spscope recover \"$PWD/today.db.collecting\" -o \"$PWD/today.db\""
for path in today.db today.db.collecting "$folder" "$folder/today.head.db"; do
  for command in compare report doctor; do
    expect_refused "process $pid on host" "$PWD/today.db.collecting" "$make" -- "$command" "$path"
  done
  expect_refused "process $pid on host" "$make" -- sql "$path" 'SELECT 1'
  expect_refused "process $pid on host" "$make" -- export "$path" --format chrome -o events.json
done
expect_exit 1 watch today.db --once
expect_out "spscope recover \"$PWD/today.db\" -o FILE.db"
# As a run that is killed when it has written its file and has not yet removed the rest: the file is whole, and stays as it
# is. One that was there before the run is not it.
expect_exit 0 run "${small[@]}" -o whole.db
cp whole.db today.db
expect_exit 0 recover today.db -o today.db
expect_err 'today.db" is whole: its run wrote it, and there is nothing to recover'
expect_out "  $folder" "  $PWD/today.db.collecting"
expect_not_out 'wrote '
cmp whole.db today.db || fail "recover changed a whole file"
touch -d 2020-01-01 today.db
expect_refused '"today.db" exists' -- recover today.db -o today.db
rm today.db
expect_exit 0 recover today.db -o by-path.db --json
expect_json 'd["events"] > 0' 'd["unreadable"] == 0' 'd["files_read"] == 2' \
  "d['removable'] == ['$PWD/today.db.collecting', '$PWD/today.db.tmp', '$folder']"
expect_exit 0 recover today.db.collecting -o by-note.db
expect_out "  $folder" "  $PWD/today.db.collecting" "  $PWD/today.db.tmp"
expect_exit 0 recover "$folder" -o by-folder.db
[ -e "$folder" ] || fail "the shards are gone"
for file in by-path by-note by-folder; do
  expect_exit 0 doctor $file.db
  expect_out 'did not finish' 'incident, lost' "process $pid of host"
  expect_exit 0 sql $file.db 'SELECT rank, lane, op_id, begin_ns, end_ns, unfinished FROM event ORDER BY 1, 2, 4, 5' --csv
  cp "$out" $file.csv
done
cmp by-path.csv by-note.csv || fail "the note leads elsewhere"
cmp by-path.csv by-folder.csv || fail "the folder leads elsewhere"
expect_exit 1 compare by-path.db
expect_out 'no layer was finished by every strategy' 'events are kept'
expect_not_out makespan
expect_exit 1 compare by-path.db --json
expect_json 'd["recording"]["events_stored"] > 0' 's["ring"]["makespan_ns"] is None' \
  '"{:,} events are kept".format(d["recording"]["events_stored"]) in d["nothing_finished"]'
[ ! -e never.db ] || fail "a file was written while the run was going on"
