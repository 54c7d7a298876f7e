#!/usr/bin/env bash
# What can go wrong with mpirun itself: it is not there, it ends in a way of its own, and nobody can ask how it ended.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi
job=(run -s ring "${small[@]}" --set cluster.ranks=2 --launcher mpi -o kept.db)

# Started by a daemon that ignores the end of its children: the run is merged like any other.
code=0
env --ignore-signal=CHLD "$SPSCOPE" "${job[@]}" >"$out" 2>"$err" || code=$?
[ "$code" -eq 0 ] || fail "exit code $code with SIGCHLD ignored"
expect_exit 0 doctor kept.db
expect_no_scratch
rm kept.db

# In the place of a shell whose children run: they go on.
code=0
# shellcheck disable=SC2016  # for that shell
sh -c 'sleep 600 & echo $! >../child; exec "$@"' sh "$SPSCOPE" "${job[@]}" >"$out" 2>"$err" || code=$?
[ "$code" -eq 0 ] || fail "exit code $code in the place of a shell with children"
kill "$(cat ../child)" || fail "a child of the shell was ended"
rm kept.db

# A rank that ends with the exit code of a wrong use, after others have recorded something: that is kept.
mkdir ../programs
# shellcheck disable=SC2016  # for that script
printf '#!/bin/sh\n"%s" "$@"\nexit 2\n' "$(command -v mpirun)" >../programs/mpirun
chmod +x ../programs/mpirun
code=0
PATH=$PWD/../programs:$PATH "$SPSCOPE" "${job[@]}" >"$out" 2>"$err" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code when ranks end with 2"
expect_err 'kept.db'
expect_exit 0 sql kept.db 'SELECT count(*) > 0 FROM event' --csv
expect_out '1'
expect_no_scratch
rm kept.db

# with_programs NAME...: runs the job with nothing on the PATH but these; each ends with 213, as mpirun does when its own
# daemon fails, and setpriv runs the program that it is given.
with_programs() {
  rm -rf ../programs
  mkdir ../programs
  local name
  # shellcheck disable=SC2016  # $3 and $@ are those of the script
  for name; do printf '#!/bin/sh\n%s\n' "$([ "$name" = setpriv ] && echo 'shift 2; exec "$@"' || echo 'exit 213')" >"../programs/$name"; done
  chmod +x ../programs/*
  code=0
  PATH=$PWD/../programs "$SPSCOPE" "${job[@]}" >"$out" 2>"$err" || code=$?
  expect_no_files
  expect_no_scratch
}
with_programs setpriv
[ "$code" -eq 2 ] || fail "exit code $code without mpirun"
expect_err 'SPS-127' 'mpirun' 'openmpi-bin' '--launcher threads'
with_programs mpirun
[ "$code" -eq 2 ] || fail "exit code $code without setpriv"
expect_err 'SPS-127' 'setpriv' 'util-linux'
with_programs mpirun setpriv
[ "$code" -eq 1 ] || fail "exit code $code of a bad end of mpirun"
expect_err 'SPS-120' 'exit code 213'
expect_not_err 'signal'
