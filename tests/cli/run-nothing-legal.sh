#!/usr/bin/env bash
# When no strategy can run the workload the exit code is 2 and each reason is printed.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 2 run "${small[@]}" -s ulysses -s usp:ulysses=4,ring=2 --set cluster.ranks=16
expect_out 'ulysses degree 16 exceeds the 3 heads' 'ulysses 4 x ring 2 makes 8 ranks, the cluster has 16'
