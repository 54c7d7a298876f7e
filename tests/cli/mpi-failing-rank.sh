#!/usr/bin/env bash
# A rank that throws, or hangs, or is stopped, stops all processes, on its node and on others; all of them report that
# rank, and not one that waits for it.
# labels: mpi wide
# cost: 60
. "$(dirname -- "$0")/common.inc"
need_mpi

# nodes NUMBER...: 0 is one node for all ranks. The default set has the first number.
nodes() { if [ -n "${WIDE:-}" ]; then echo "$@"; else echo "$1"; fi; }
for ranks_per_node in $(nodes 1 0 2); do
  start_ranks 4 "$CONFORMANCE" --fail --ranks-per-node "$ranks_per_node"
  [ "$code" -eq 0 ] || fail "nodes of $ranks_per_node: a process reports something else"
  [ "$(grep -c 'rank 1 failed in exchange op .*: link down$' "$out")" -eq 4 ] || fail "not all processes report it"
done
for ranks_per_node in $(nodes 0 1 2); do
  start_ranks 4 "$CONFORMANCE" --hang --ranks-per-node "$ranks_per_node"
  [ "$code" -eq 0 ] || fail "nodes of $ranks_per_node: a process reports something else of a hang"
  [ "$(grep -c 'rank 1 made no progress for .* in exchange op ' "$out")" -eq 4 ] || fail "not all processes report the hang"
done
expect_no_ranks
[ -n "${WIDE:-}" ] || exit 0
# One that computes for longer than the others wait is no fault, on its node and on others.
for ranks_per_node in 0 1; do
  start_ranks 4 "$CONFORMANCE" --compute --ranks-per-node "$ranks_per_node"
  [ "$code" -eq 0 ] || fail "nodes of $ranks_per_node: a rank that computes is stopped"
  [ "$(grep -c 'nothing was thrown$' "$out")" -eq 4 ] || fail "nodes of $ranks_per_node: a rank that computes is a fault"
done
# Ranks in containers on one host share memory, but may have scratch folders of their own.
for ranks_per_node in 0 2; do
  start_ranks 4 "$CONFORMANCE" --hang --private-page --ranks-per-node "$ranks_per_node"
  [ "$code" -eq 0 ] || fail "nodes of $ranks_per_node: a process reports something else of a hang without pages of others"
  [ "$(grep -c 'rank 1 made no progress for .* in exchange op ' "$out")" -eq 4 ] || fail "not all processes report the hang"
done
# On its node the others see that its process is stopped, on others they do not hear of it. When ranks abort, the mpirun of
# PMIx 4.2 sometimes waits for a lock of its own at its end, or crashes (139), with no rank left.
for fault in '--stop 0' '--stop-last 1'; do
  ranks_limit=20 start_ranks 4 "$CONFORMANCE" "${fault% *}" --ranks-per-node "${fault#* }"
  case $code in 137 | 139) rm -rf "$TMPDIR"/ompi.* ;; esac
  expect_not_err 'is not named'
  named=$(grep -cE 'rank 1 made no progress for .*: its process [0-9]+ (is stopped by a signal|on .* was not heard of)' "$out" || true)
  [ "$named" -ge 3 ] || fail "$fault: only $named processes name the one that is stopped"
done
expect_no_ranks
