#!/usr/bin/env bash
# A run over two hosts that is stopped or killed, or whose disks are too small on one of them: the message names host, path and
# bytes, and what its ranks did on both is kept or can be recovered.
# labels: mpi extended
# cost: 35
. "$(dirname -- "$0")/common.inc"
. "$scripts/two-hosts.inc"

long=("${small[@]}" -s ring --set cluster.ranks=4 --set run.denoise_steps=5000 --set run.verify=off --headless)

# fill HOST KIB: leaves so much on its small disk.
fill() {
  local free
  free=$("$1" df --output=avail -k "$small_disk" | tail -n 1)
  # The ranks write meanwhile: there may be less than there was.
  "$1" dd if=/dev/zero "of=$small_disk/ballast" bs=1024 "count=$((free - $2))" status=none 2>/dev/null || true
}
empty() { "$1" rm -f -- "$small_disk/ballast"; }
finish() {
  code=0
  wait "$pid" || code=$?
  [ "$code" -ne 0 ] || fail "exit code $code"
}

# At the start.
fill on_two 1000
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" --set "run.scratch=$small_disk" -o kept.db
finish
expect_err 'SPS-154' "host $two: " "\"$small_disk\" has " ' bytes free, and this run needs 8388608' 'run.scratch'
expect_no_files
expect_hosts_clean
empty on_two

# Before anything runs: the events that the ranks of a host will record have no room there.
fill on_two 12000
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" --set "run.scratch=$small_disk" --set run.repeats=30 -o kept.db
finish
expect_err 'SPS-158' "host $two: a run of " ' events needs at least ' " bytes in \"$small_disk/spscope-kept-" ' are free'
expect_no_files
expect_hosts_clean
empty on_two

# While ranks run: the layers before are kept.
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" --set "run.scratch=$small_disk" -o kept.db
wait_for_done 20 "$err"
fill on_two 0
finish
expect_err 'SPS-154' "host $two: " "the shard \"$small_disk/spscope-kept-" ' bytes and 0 are free there'
expect_files kept.db
expect_hosts_clean
expect_sql kept.db 1 'SELECT count(*) >= 20 AS some FROM run WHERE finished'
expect_sql kept.db 10,0 'SELECT count(*) AS runs, sum((SELECT count(DISTINCT e.rank) FROM event e WHERE e.run_id = r.run_id) != 4) AS incomplete FROM run r WHERE run_id <= 10'
# The newest events of the second host found no room, and are counted.
expect_sql kept.db 0,1 'SELECT sum(sent != stored + dropped + unreadable + lost) AS unbalanced, sum(dropped) > 0 AS missing FROM ledger'
rm kept.db
empty on_two

# When the shards are brought together: all of them stay, and are merged later.
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" --set "run.scratch=$small_disk" -o kept.db
wait_for_done 30 "$err"
fill on_one 300  # too little for three shards, and perhaps for what rank 0 writes until it stops
kill -USR1 "$pid"
finish
home=$(folders_on on_one) part=$(folders_on on_two)
expect_err 'SPS-154' 'the shards of other hosts need ' " bytes in \"$home\" on host $one, where " "is kept in \"$home\"" \
  "those of ranks 1, 2 and 3 in \"$part\" on host $two" 'spscope recover'
expect_files kept.db.collecting
empty on_one
on_two tar -C "$(dirname -- "$part")" -cf - "$(basename -- "$part")" | tar -xf -
expect_code 0 on_one "$SPSCOPE" recover "$home" "$(basename -- "$part")" -o whole.db
expect_sql whole.db 20,0 'SELECT count(*) AS runs, sum((SELECT count(DISTINCT e.rank) FROM event e WHERE e.run_id = r.run_id) != 4) AS incomplete FROM run r WHERE finished AND run_id <= 20'
rm -r -- *
on_one rm -r "$home"
on_two rm -r "$part"

# The early signal: layers that are complete are kept, with the events of both hosts.
begin_on_two_hosts 2 2 "$SPSCOPE" run "${long[@]}" -o kept.db
wait_for_done 20 "$err"
wait_for test "$(folders_on on_two | wc -l)" -eq 1
on_two "$SPSCOPE" watch "$(folders_on on_two)" --once --json >watched || fail "watch on the second host"
grep -q '"rank":3' watched || fail "watch shows: $(cat watched)"
! grep -q '"rank":1' watched || fail "watch on the second host shows a rank of the first"
kill -USR1 "$pid"
expect_end 1 "after SIGUSR1"
expect_err ' layer passes '
rm watched
expect_files kept.db
expect_hosts_clean
expect_sql kept.db 1 'SELECT count(*) >= 20 AND count(*) < 5000 AS some FROM run WHERE finished'
expect_exit 0 sql kept.db 'SELECT r.run_id FROM run r WHERE r.finished AND (SELECT count(DISTINCT e.rank) FROM event e WHERE e.run_id = r.run_id) != 4 LIMIT 1' --csv
[ "$(wc -l <"$out")" -eq 1 ] || fail "a layer lacks the events of a rank"
expect_sql kept.db 0,2 'SELECT sum(sent != stored + dropped + unreadable + lost) AS unbalanced, count(DISTINCT host) AS hosts FROM ledger, rank_process'
rm kept.db

# Every rank is killed: each host keeps its folder, and both together make the file. No other test has one of that name.
begin_on_two_hosts 2 2 "$SPSCOPE" run "${long[@]}" -o killed-apart.db
wait_for_done 20 "$err"
ranks=$(pgrep -f -- "$SPSCOPE run .*-o killed-apart.db" | while read -r process; do
  [ "$(cat "/proc/$process/comm")" = mpirun ] || echo "$process"
done)
[ "$(wc -w <<<"$ranks")" -eq 4 ] || fail "ranks are: $ranks"
# shellcheck disable=SC2086 # one word a process
kill -KILL $ranks
wait "$pid" || true
no_ranks() { ! pgrep -f -- "$SPSCOPE run .*-o killed-apart.db" >/dev/null; }
wait_for no_ranks
home=$(folders_on on_one) part=$(folders_on on_two)
if [ -z "$home" ] || [ -z "$part" ]; then fail "folders are: $home $part"; fi
expect_code 0 on_one "$SPSCOPE" recover killed-apart.db -o half.db
expect_err "those of ranks 2 and 3 in \"$part\" on host $two"
expect_code 0 on_two "$SPSCOPE" recover "$part" -o "$TMPDIR/other.db"
expect_err "in the folder of this run on host $one"
on_two "$SPSCOPE" sql "$TMPDIR/other.db" 'SELECT min(rank) AS low, max(rank) AS high, count(*) > 100 AS many FROM event' --csv >"$out"
expect_out '2,3,1'
on_two tar -C "$(dirname -- "$part")" -cf - "$(basename -- "$part")" | tar -xf -
expect_code 0 on_one "$SPSCOPE" recover "$home" "$(basename -- "$part")" -o whole.db
expect_not_err 'were not given'
expect_sql whole.db 4 'SELECT count(DISTINCT rank) AS ranks FROM event'
# But for the newest 100 ms, whose events a rank may not have committed, layers that are finished are whole.
ranks_of_layers="SELECT count(*) >= 5 AS many, min(ranks), max(ranks)
  FROM (SELECT count(DISTINCT e.rank) AS ranks, max(e.end_ns) AS end_ns FROM run r JOIN event e USING (run_id)
        WHERE r.finished GROUP BY run_id)
  WHERE end_ns < (SELECT max(end_ns) FROM event WHERE NOT unfinished) - 100000000"
expect_sql whole.db 1,4,4 "$ranks_of_layers"
# The exchanges up to then were in the head: the clocks of both hosts fit.
expect_exit 0 sql whole.db 'SELECT rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges FROM clock_fit ORDER BY rank' --csv
python3 -B "$scripts/check_clocks.py" "$out" "$clock_ahead_s" || fail "the clocks of the ranks"
