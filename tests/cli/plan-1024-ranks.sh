#!/usr/bin/env bash
# One Wan2.1-14B layer is planned and verified on 1,024 ranks of 128 nodes, Ulysses inside the nodes, rings across them.
# labels: extended
. "$(dirname -- "$0")/common.inc"

expect_exit 0 plan --set model.preset=wan2.1-t2v-14b --set cluster.preset=ndr-h100-xN --set cluster.nodes=128 \
  --set mask.pattern=paro --set mask.density=0.41 -s usp:ulysses=8,ring=128 --json
expect_json 'len(s["usp"]["bytes_sent"]) == 1024 and s["usp"]["resolved"]["rank_map"][-1] == 127' \
  'sum(s["usp"]["bytes_sent_intra_node"]) == 4 * 7 * 774144000 // 8' \
  'sum(s["usp"]["bytes_sent_inter_node"]) == 2 * 127 * 774144000' \
  's["usp"]["resolved"]["groups"]["ulysses"][1] == list(range(8, 16))'

# More ranks than a block of the mask may have tokens, and than there are tokens.
expect_exit 0 plan -s ring "${small[@]}" --set model.grid=1,2,2 --set cluster.ranks=512

# What is best balanced is not called fastest, and the degrees of the sample are refused with those to give.
expect_exit 0 plan "$samples/wan-14b.toml" -s usp:ulysses=4,ring=2 -s usp --set cluster.preset=ndr-h100-xN \
  --set cluster.ranks=1024 --set run.layers=1 --set 'run.scratch=/a b' --set run.mode=project
expect_out 'run.strategies or after -s: usp:ulysses=32,ring=32' \
  "  spscope run $samples/wan-14b.toml -s usp:ulysses=4,ring=2 -s usp --set cluster.preset=ndr-h100-xN --set cluster.ranks=1024 --set run.layers=1 --set 'run.scratch=/a b' --set run.mode=simulate"
