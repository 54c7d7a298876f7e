#!/usr/bin/env bash
# What can go wrong with mpirun itself: it is not there, it ends in a way of its own or not at all when its ranks have ended, and
# nobody can ask how it ended.
# labels: mpi extended
# cost: 12
. "$(dirname -- "$0")/common.inc"
need_mpi
job=(run -s ring "${small[@]}" --set cluster.ranks=2 --launcher mpi --headless -o kept.db)
real=$(command -v mpirun)

# Started by a daemon that ignores the end of its children: the run is merged like any other.
expect_code 0 env --ignore-signal=CHLD "$SPSCOPE" "${job[@]}"
expect_exit 0 doctor kept.db
expect_no_scratch
rm kept.db

# In the place of a shell whose children run: they go on.
# shellcheck disable=SC2016  # for that shell
expect_code 0 sh -c 'sleep 600 & echo $! >../child; exec "$@"' sh "$SPSCOPE" "${job[@]}"
kill "$(cat ../child)" || fail "a child of the shell was ended"
rm kept.db

# mpirun_is LINE...: what mpirun is from here on; "$@" has its arguments.
mpirun_is() {
  rm -rf ../programs
  mkdir ../programs
  printf '#!/bin/sh\n' >../programs/mpirun
  printf '%s\n' "$@" >>../programs/mpirun
  chmod +x ../programs/mpirun
}
# A rank that ends with the exit code of a wrong use, after others have recorded something: that is kept.
mpirun_is "\"$real\" \"\$@\"" 'exit 2'
PATH=$PWD/../programs:$PATH expect_code 1 "$SPSCOPE" "${job[@]}"
expect_err 'kept.db'
expect_sql kept.db 1 'SELECT count(*) > 0 FROM event'
expect_no_scratch
rm kept.db

# with_programs CODE NAME...: runs the job with nothing on the PATH but these; mpirun ends with 213, as it does when its own daemon
# fails, and setpriv runs the program that it is given.
with_programs() {
  mpirun_is 'exit 213'
  printf '#!/bin/sh\nshift 2; exec "$@"\n' >../programs/setpriv
  chmod +x ../programs/setpriv
  for name in mpirun setpriv; do [[ " $* " == *" $name "* ]] || rm ../programs/$name; done
  PATH=$PWD/../programs expect_code "$1" "$SPSCOPE" "${job[@]}"
  expect_no_files
  expect_no_scratch
}
with_programs 2 setpriv
expect_err 'SPS-127' 'mpirun' 'openmpi-bin' '--launcher threads'
with_programs 2 mpirun
expect_err 'SPS-127' 'setpriv' 'util-linux'
with_programs 1 mpirun setpriv
expect_err 'SPS-120' 'exit code 213'
expect_not_err 'signal'

# One that hangs at its end, deaf to SIGTERM, with a child of its own, is killed after a sixth of the patience, 10 s; the result
# is that of the ranks, and nothing is left.
export SPSCOPE_PATIENCE_S=12
mpirun_is 'trap "" TERM' "\"$real\" \"\$@\"" 'sleep 1000'
export PATH=$PWD/../programs:$PATH
expect_exit 0 "${job[@]}"
expect_err 'mpirun did not end after its ranks'
expect_exit 0 doctor kept.db
expect_sql kept.db 1 'SELECT sum(sent) = sum(stored) AND sum(sent) > 0 FROM ledger'
expect_sql kept.db 0 'SELECT count(*) FROM incident'
expect_files kept.db
expect_no_ranks
expect_no_scratch
rm kept.db

# After a rank was killed, too, which nobody tells then.
begin "${job[@]}" --set run.verify=off --set run.denoise_steps=5000
wait_for_done 20 "$err"
kill -KILL "$("$SPSCOPE" watch kept.db --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][1]["pid"])')"
expect_end 1 "after a rank was killed"
expect_err 'mpirun did not end after its ranks' '"SPS-120","message":"rank 1 ended' 'kept.db'
expect_exit 0 sql kept.db "SELECT rank || ' ' || message FROM incident ORDER BY ordinal LIMIT 1" --csv
expect_out '1 rank 1 ended'
expect_files kept.db
expect_no_ranks
expect_no_scratch
