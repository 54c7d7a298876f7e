#!/usr/bin/env bash
# ulysses, ring and usp are right on 1, 2, 3, 5, 6 and 8 ranks of 8 heads that not every count divides.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

for ranks in 1 2 3 5 6 8; do
  expect_exit 0 run "${small[@]}" --set model.heads=8 --set cluster.ranks=$ranks -s ulysses -s ring -s usp --json
  expect_json 'list(s) == ["ulysses", "ring", "usp"]' \
    'all(x["legal"] and x["verify"] == "passed" for x in s.values())' \
    "all(len(x['bytes_sent']) == $ranks for x in s.values())"
done
