#!/usr/bin/env bash
# cluster.profile: a copy of a preset works like it; a damaged or missing one is refused with its place.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

cp "$SOURCE_DIR/backend/config/clusters/a800x8.toml" mine.toml
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --json
grep '"makespan_ns"' "$out" >preset
expect_exit 0 run "$samples/photo-project.toml" --set run.mode=simulate --set cluster.profile="$PWD/mine.toml" --json
grep '"makespan_ns"' "$out" | cmp - preset || fail "the profile does not act like the preset it is a copy of"
expect_refused 'missing.toml' -- plan --set cluster.profile=missing.toml
sed 's/^link_gbps = .*/link_gbps = { value = -1.0, source = "" }/' mine.toml >negative.toml
expect_refused 'negative.toml:' 'link_gbps' -- plan --set cluster.profile=negative.toml
sed 's/link_gbps/link_gpbs/' mine.toml >misspelt.toml
expect_refused 'misspelt.toml:' 'link_gpbs' -- plan --set cluster.profile=misspelt.toml
