#!/usr/bin/env bash
# OUT on a file system of a network, where the lock that holds OUT.tmp is one of all its bytes: run and recover
# write it, and a second run to the same OUT is still refused.
. "$(dirname -- "$0")/common.inc"
export LD_PRELOAD=$INJECT INJECT_NFS_LOCKS=1

expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_exit 0 doctor kept.db
expect_exit 0 recover kept.db -o recovered.db
expect_files kept.db recovered.db

"$SPSCOPE" run -s ring --set model.grid=6,20,30 --set run.verify=off --set run.mode=execute --set run.repeats=2000 -o busy.db >/dev/null 2>&1 &
first=$!
wait_for test -e busy.db.tmp
expect_refused 'SPS-155' '"busy.db"' -- run -s ring "${small[@]}" -o busy.db
kill -INT "$first"
wait "$first" || true
