#!/usr/bin/env bash
# compare --fail-above: exit 3 when a strategy became slower by more than the limit, 0 when not, 2 for other workloads.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

# One cluster before and after its attention kernel became a fifth slower.
cp "$SOURCE_DIR/backend/config/clusters/a800x8.toml" before.toml
sed 's/^attend_ns_per_pair_channel = { value = 2.564e-05/attend_ns_per_pair_channel = { value = 3.077e-05/' \
  before.toml >after.toml
! cmp -s before.toml after.toml || fail "the profile was not changed"
for name in before after; do
  expect_exit 0 run --set run.mode=simulate --set cluster.profile="$PWD/$name.toml" --set cluster.ranks=4 -s ring -s ulysses \
    --set model.grid=8,30,40 -o $name.db
done
expect_exit 3 compare before.db after.db --fail-above 1%
expect_exit 3 compare before.db after.db --fail-above 1% --json
expect_json 'len(d["comparisons"]) == 2 and any(c["regression"] for c in d["changes"])'
expect_exit 0 compare before.db after.db --fail-above 30%
expect_exit 0 compare after.db before.db --fail-above 1%
expect_exit 0 compare before.db after.db
expect_exit 0 run --set run.mode=simulate -s ring --set cluster.ranks=4 -o other.db
# A check that compared nothing has not passed.
expect_exit 0 run --set run.mode=project --set cluster.profile="$PWD/before.toml" --set cluster.ranks=4 -s ring \
  --set model.grid=8,30,40 --set run.repeats=1 -o projected.db
expect_refused 'SPS-180' 'simulate and project' -- \
  compare before.db projected.db --fail-above 1%
expect_refused 'SPS-180' -- compare before.db other.db --fail-above 1%
expect_refused '--fail-above' -- compare before.db after.db --fail-above lots
expect_refused '--fail-above' -- compare before.db --fail-above 5%
