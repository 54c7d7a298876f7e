#!/usr/bin/env bash
# Bytes of one Wan2.1-14B layer on 8 ranks are those of the closed forms: 4 (U - 1) / U m for Ulysses, 2 (R - 1) m for a
# ring, their sum for usp, where m is one rank's share of a tensor; all to ranks of the same node.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 plan --set model.preset=wan2.1-t2v-14b --set cluster.preset=a800x8 --set mask.pattern=paro \
  --set mask.density=0.41 -s ulysses -s ring -s usp:ulysses=4,ring=2 -s usp:ulysses=2,ring=4 --json
expect_json 'd["workload"]["tokens"] == 75600 and d["workload"]["blocks"] == 1182 and d["workload"]["ranks"] == 8' \
  'abs(d["workload"]["density"] - 0.41) < 0.005' \
  'sum(s["ulysses"]["bytes_sent"]) == 8 * 338688000' 'sum(s["ring"]["bytes_sent"]) == 8 * 1354752000' \
  'sum(s["usp"]["bytes_sent"]) == 8 * 483840000' 'sum(s["usp-2"]["bytes_sent"]) == 8 * 774144000' \
  'all(x["bytes_sent"] == x["bytes_sent_intra_node"] and not any(x["bytes_sent_inter_node"]) for x in s.values())' \
  'len(set(x["tiles"] for x in s.values())) == 1' 'all(x["tiles_redundant"] == 0 for x in s.values())'
