#!/usr/bin/env bash
# plan --dot is a graph: every edge is between nodes that are declared once, every rank has its cluster.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan "${small[@]}" --set cluster.ranks=3 -s ring --dot
python3 -B "$scripts/check_plan_text.py" dot "$out" || fail "not a graph"
[ "$(grep -c 'subgraph cluster_' "$out")" -eq 3 ] || fail "not three ranks"
