#!/usr/bin/env bash
# Ranks that are processes: a strategy whose plan breaks a rule in the second denoise step is refused in all of them, and
# the other strategy runs to its end.
# labels: mpi extended
. "$(dirname -- "$0")/common.inc"
need_mpi

ranks_limit=60 start_ranks 2 "$CONFORMANCE" --refused
[ "$code" -eq 0 ] || fail "a refused strategy stopped the others"
expect_out 'the plan of ulysses breaks' 'ring r2: 2 layer passes, passed'
expect_no_ranks
