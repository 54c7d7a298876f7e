#!/usr/bin/env bash
# A rank that throws, or hangs, or is stopped, stops all processes, on its node and on others; all of them report that
# rank, and not one that waits for it.
# labels: mpi wide
# cost: 60
. "$(dirname -- "$0")/common.inc"
need_mpi

# reported TEXT FLAG... -- RANKS_PER_NODE...: by all processes; 0 is one node for all ranks. The default set has the first number.
reported() {
  local text=$1 flags=()
  shift
  while [ "$1" != -- ]; do flags+=("$1") && shift; done
  shift
  [ -n "${WIDE:-}" ] || set -- "$1"
  for ranks_per_node; do
    expect_ranks 0 4 "$CONFORMANCE" "${flags[@]}" --ranks-per-node "$ranks_per_node"
    [ "$(grep -c "$text" "$out")" -eq 4 ] || fail "nodes of $ranks_per_node: not all processes report: $text"
  done
}
reported 'rank 1 failed in exchange op .*: link down$' --fail -- 1 0 2
reported 'rank 1 made no progress for .* in exchange op ' --hang -- 0 2
expect_no_ranks
[ -n "${WIDE:-}" ] || exit 0
# One that computes for longer than the others wait is no fault.
reported 'nothing was thrown$' --compute -- 0 1
# Ranks in containers on one host share memory, but may have scratch folders of their own.
reported 'rank 1 made no progress for .* in exchange op ' --hang --private-page -- 2
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
