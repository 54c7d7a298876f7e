#!/usr/bin/env bash
# Every problem of a config is named at once, with line and column, and the nearest known name where there is one.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

lines bad.toml \
  '[model]' 'preset = "wan-mni"' 'heads = -4' 'grid = [4, 14]' \
  '[mask]' 'patern = "paro"' 'density = nan' 'block = 1000' \
  '[mask.window]' 'radus = 2' \
  '[run]' 'mode = "exceute"' 'strategies = ["ulises", "ring"]' 'repeats = "five"' 'layers = 2.5' \
  '[strategy.usp]' 'ulyses = 2' 'ring = "two"' \
  '[strategy.rng]' 'order = 1' \
  '[clustr]' 'ranks = 4'
for command in run plan; do
  expect_refused \
    'model.preset: "wan-mni"' 'bad.toml:2:10' 'did you mean "wan-mini"?' \
    'model.heads: -4 is outside' 'bad.toml:3:9' 'model.grid' 'bad.toml:4:8' \
    'mask.patern' 'bad.toml:6:1' 'did you mean "mask.pattern"?' 'mask.density: nan' 'bad.toml:7:11' \
    'mask.block: 1000 is outside' 'bad.toml:8:9' 'mask.window.radus' 'bad.toml:10:' 'did you mean "radius"?' \
    'run.mode: "exceute"' 'bad.toml:12:8' 'did you mean "execute"?' \
    'run.strategies: "ulises"' 'bad.toml:13:14' 'did you mean "ulysses"?' \
    'run.repeats' 'bad.toml:14:11' 'run.layers' 'bad.toml:15:10' \
    'strategy.usp.ulyses' 'bad.toml:17:' 'did you mean "ulysses"?' 'strategy.usp.ring' 'bad.toml:18:' \
    'strategy.rng' 'did you mean "ring"?' 'clustr.ranks' 'bad.toml:22:1' 'did you mean "cluster.ranks"?' \
    -- "$command" bad.toml
done
expect_files bad.toml
