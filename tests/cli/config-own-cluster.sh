#!/usr/bin/env bash
# A cluster of one's own starts from a printed preset or the sample; all keys that it lacks are named at once.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

for name in a800x8 p4de-xN local; do
  expect_exit 0 list clusters --toml $name
  cp "$out" mine.toml
  expect_exit 0 plan -s ring --set run.mode=simulate --set cluster.ranks=4 --set cluster.profile=mine.toml
done
expect_refused 'did you mean "a800x8"?' -- list clusters --toml a80x8
expect_refused '--toml' -- list models --toml a800x8
expect_exit 0 plan -s ring --set run.mode=simulate --set model.heads=16 --set cluster.ranks=16 \
  --set "cluster.profile=$samples/cluster-a800-2node.toml" --json
expect_json 'sum(s["ring"]["bytes_sent_inter_node"]) > 0'
lines mine.toml 'name = "mine"'
expect_refused 'network.link_gbps' 'network.provenance' 'cost.provenance' 'cost.gemm_ns_per_flop' 'network.compute_slowdown' \
  'link_gbps = { value = ..., source = "where it is from" }' -- plan --set cluster.profile=mine.toml
