#!/usr/bin/env bash
# A run over two hosts that is stopped or killed: what its ranks did on both is kept or can be recovered.
# labels: mpi extended
# cost: 15
. "$(dirname -- "$0")/common.inc"
. "$scripts/two-hosts.inc"

long=("${small[@]}" -s ring --set cluster.ranks=4 --set run.denoise_steps=5000 --set run.verify=off --headless)

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

# Every rank is killed: each host keeps its folder, and both together make the file.
begin_on_two_hosts 2 2 "$SPSCOPE" run "${long[@]}" -o kept.db
wait_for_done 20 "$err"
ranks=$(pgrep -f -- "$SPSCOPE run .*-o kept.db" | while read -r process; do
  [ "$(cat "/proc/$process/comm")" = mpirun ] || echo "$process"
done)
[ "$(wc -w <<<"$ranks")" -eq 4 ] || fail "ranks are: $ranks"
# shellcheck disable=SC2086 # one word a process
kill -KILL $ranks
wait "$pid" || true
no_ranks() { ! pgrep -f -- "$SPSCOPE run .*-o kept.db" >/dev/null; }
wait_for no_ranks
home=$(folders_on on_one) part=$(folders_on on_two)
if [ -z "$home" ] || [ -z "$part" ]; then fail "folders are: $home $part"; fi
expect_code 0 on_one "$SPSCOPE" recover kept.db -o half.db
expect_err "those of ranks 2, 3 in \"$part\" on host $two"
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
