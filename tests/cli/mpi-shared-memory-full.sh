#!/usr/bin/env bash
# Too little room in /dev/shm is an error with path and bytes, not a death by signal.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi

unshare --mount true 2>/dev/null || skip "no private mounts here (unshare)"
lines run 'mount -t tmpfs -o size=9m tmpfs /dev/shm && exec "$@"'
code=0
unshare --mount bash run "$SPSCOPE" run -s ring --set model.grid=12,30,52 --set model.heads=12 --set model.head_dim=64 \
  --set cluster.ranks=2 --set run.verify=off --set run.repeats=1 --launcher mpi >"$out" 2>"$err" || code=$?
[ "$code" -eq 1 ] || [ "$code" -eq 2 ] || fail "exit code $code"
expect_err 'SPS-126' "/dev/shm of host $(hostname) has " ' bytes free, and the ranks there need '
expect_no_ranks
expect_no_scratch
