#!/usr/bin/env bash
# Ranks that are processes give the same bits and bytes as ranks that are threads: over parts of the conformance set, on two
# processes of one node and on three that share no memory; wide on other numbers and nodes, too. A strategy whose plan breaks
# a rule in the second denoise step is refused in all processes, and the other strategy runs to its end.
# labels: mpi wide
# cost: 60
. "$(dirname -- "$0")/common.inc"
need_mpi

parts=('2 --plans 100' '3 --plans 40 --ranks-per-node 1')
if [ -n "${WIDE:-}" ]; then
  parts=('1 --plans 60' '2 --plans 300' '3 --plans 150' '4 --plans 120' '8 --plans 60' '2 --plans 100 --ranks-per-node 1'
    '3 --plans 100 --ranks-per-node 1' '4 --plans 100 --ranks-per-node 2' '4 --plans 60 --ranks-per-node 1'
    '8 --plans 30 --ranks-per-node 4' '8 --plans 30 --ranks-per-node 3')
fi
for part in "${parts[@]}"; do
  # shellcheck disable=SC2086  # flags and their values
  expect_ranks 0 ${part%% *} "$CONFORMANCE" ${part#* }
  grep -E '^[0-9]+ plans on' "$out"
done

ranks_limit=60 expect_ranks 0 2 "$CONFORMANCE" --refused
expect_out 'the plan of ulysses breaks' 'ring r2: 2 layer passes, passed'
expect_no_ranks
