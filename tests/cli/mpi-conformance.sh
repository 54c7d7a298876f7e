#!/usr/bin/env bash
# Ranks that are processes give the same bits and bytes as ranks that are threads: over parts of the conformance set, on two
# processes of one node and on three that share no memory; wide on other numbers and nodes, too.
# labels: mpi wide
# cost: 60
. "$(dirname -- "$0")/common.inc"
need_mpi

compare() {
  local ranks=$1
  shift
  start_ranks "$ranks" "$CONFORMANCE" "$@"
  [ "$code" -eq 0 ] || fail "$ranks processes, $*"
  grep -E '^[0-9]+ plans on' "$out"
}

if [ -z "${WIDE:-}" ]; then
  compare 2 --every 20
  compare 3 --every 60 --ranks-per-node 1
  expect_no_ranks
  exit 0
fi
compare 1 --every 20
compare 2 --every 3
compare 3 --every 7
compare 4 --every 10
compare 8 --every 20
compare 2 --every 5 --ranks-per-node 1
compare 3 --every 11 --ranks-per-node 1
compare 4 --every 11 --ranks-per-node 2
compare 4 --every 20 --ranks-per-node 1
compare 8 --every 40 --ranks-per-node 4
compare 8 --every 40 --ranks-per-node 3
expect_no_ranks
