#!/usr/bin/env bash
# Disks of one of two hosts that are too small: the message names host, path and bytes, and nothing that was kept is lost.
# labels: mpi extended
# cost: 20
. "$(dirname -- "$0")/common.inc"
. "$scripts/two-hosts.inc"

long=("${small[@]}" -s ring --set cluster.ranks=4 --set run.denoise_steps=5000 --set run.verify=off --headless
  --set "run.scratch=$small_disk")

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
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" -o kept.db
finish
expect_err 'SPS-154' "host $two: " "\"$small_disk\" has " ' bytes free, and this run needs 8388608' 'run.scratch'
expect_no_files
expect_hosts_clean
empty on_two

# Before anything runs: the events that the ranks of a host will record have no room there.
fill on_two 12000
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" --set run.repeats=30 -o kept.db
finish
expect_err 'SPS-158' "host $two: a run of " ' events needs at least ' " bytes in \"$small_disk/spscope-kept-" ' are free'
expect_no_files
expect_hosts_clean
empty on_two

# While ranks run: the layers before are kept.
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" -o kept.db
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
begin_on_two_hosts 1 3 "$SPSCOPE" run "${long[@]}" -o kept.db
wait_for_done 30 "$err"
fill on_one 300  # too little for three shards, and perhaps for what rank 0 writes until it stops
kill -USR1 "$pid"
finish
home=$(folders_on on_one) part=$(folders_on on_two)
expect_err 'SPS-154' 'the shards of other hosts need ' " bytes in \"$home\" on host $one, where " "is kept in \"$home\"" \
  "those of ranks 1, 2, 3 in \"$part\" on host $two" 'spscope recover'
expect_files kept.db.collecting
empty on_one
on_two tar -C "$(dirname -- "$part")" -cf - "$(basename -- "$part")" | tar -xf -
expect_code 0 on_one "$SPSCOPE" recover "$home" "$(basename -- "$part")" -o whole.db
expect_sql whole.db 20,0 'SELECT count(*) AS runs, sum((SELECT count(DISTINCT e.rank) FROM event e WHERE e.run_id = r.run_id) != 4) AS incomplete FROM run r WHERE finished AND run_id <= 20'
