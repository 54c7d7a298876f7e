#!/usr/bin/env bash
# An mpirun that does not end when its ranks have ended: it is killed after a sixth of the patience, 10 s, the result is that
# of the ranks, and nothing is left.
# labels: mpi extended
# cost: 12
. "$(dirname -- "$0")/common.inc"
need_mpi

export SPSCOPE_PATIENCE_S=12
# One that hangs at its end, deaf to SIGTERM, with a child of its own.
mkdir ../programs
real=$(command -v mpirun)
# shellcheck disable=SC2016 # for that script
printf '#!/bin/sh\ntrap "" TERM\n"%s" "$@"\nsleep 1000\n' "$real" >../programs/mpirun
chmod +x ../programs/mpirun
export PATH=$PWD/../programs:$PATH
job=(run -s ring "${small[@]}" --set cluster.ranks=2 --set run.verify=off --launcher mpi --headless -o kept.db)

expect_exit 0 "${job[@]}"
expect_err 'mpirun did not end after its ranks'
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db "SELECT CASE WHEN sum(sent) = sum(stored) AND sum(sent) > 0 THEN 'all of them' END FROM ledger"
expect_out 'all of them'
expect_exit 0 sql kept.db "SELECT count(*) || ' incidents' FROM incident"
expect_out '0 incidents'
expect_files kept.db
expect_no_ranks
expect_no_scratch
rm kept.db

# After a rank was killed, too, which nobody tells then.
: >"$err"
"$SPSCOPE" "${job[@]}" --set run.denoise_steps=5000 >"$out" 2>"$err" &
pid=$! code=0
wait_for_done 20 "$err"
kill -KILL "$("$SPSCOPE" watch kept.db --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][1]["pid"])')"
wait "$pid" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code after a rank was killed"
expect_err 'mpirun did not end after its ranks' '"SPS-120","message":"rank 1 ended' 'kept.db'
expect_exit 0 sql kept.db "SELECT rank || ' ' || message FROM incident ORDER BY ordinal LIMIT 1" --csv
expect_out '1 rank 1 ended'
expect_files kept.db
expect_no_ranks
expect_no_scratch
