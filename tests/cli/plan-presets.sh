#!/usr/bin/env bash
# Every preset of the desktop app is legal: at least two strategies of each can run, and the command in its comment asks for
# a config that is accepted.
# labels: extended
. "$(dirname -- "$0")/common.inc"

number=0
for preset in "$samples"/presets/*.toml; do
  number=$((number + 1))
  expect_exit 0 plan "$preset" --json --set run.layers=1 --set run.denoise_steps=1
  expect_json "sum(x['legal'] for x in d['strategies']) >= 2" "all(x['reason'] is None or x['id'] in ('dsp', 'megatron_sp', 'megatron_tp') for x in d['strategies'])"
done
[ "$number" -eq 6 ] || fail "$number presets"
# Of a sweep, each of its values.
expect_exit 0 plan "$samples/presets/6-16-to-256-ranks.toml" -s usp:ulysses=8 --set run.layers=1 --set cluster.ranks=256 --json
expect_json "d['workload']['nodes'] == 32" "d['strategies'][0]['legal']"
