#!/usr/bin/env bash
# A rank that throws stops all processes, on its node and on others; all of them report that rank and its op.
# labels: mpi
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
need_mpi

for ranks_per_node in 0 1 2; do
  start_ranks 4 "$CONFORMANCE" --fail --ranks-per-node "$ranks_per_node"
  [ "$code" -eq 0 ] || fail "nodes of $ranks_per_node: a process reports something else"
  [ "$(grep -c 'rank 1 failed in exchange op .*: link down$' "$out")" -eq 4 ] || fail "not all processes report it"
done
expect_no_ranks
