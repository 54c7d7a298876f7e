#!/usr/bin/env bash
# A mistake in a config or flag is shown as it was typed, with the way to write what was meant.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_refused 'did you mean "mask.sparge.cdf"?' -- plan --set mask.cdf=0.9
expect_refused 'did you mean "mask.density"?' -- plan --set density=0.5
expect_refused 'did you mean "mask.seed" or "run.seed"?' -- plan --set seed=3
expect_refused '[mask.paro]' -- plan --set mask.pattern=paro:kappa=1.5
expect_refused 'usp:ulysses=4,ring=2' '"usp(4,2)"' -- plan -s 'usp(4,2)'
expect_refused -- plan -s usp:ulyses=4
expect_err '--> -s usp:ulyses=4' 'did you mean "ulysses"?'
expect_not_err 'run.strategies='
expect_refused -- plan -s rng
expect_err '--> -s rng'
expect_refused 'mask.file' '--> --set mask.file=none.npy' -- plan --set mask.file=none.npy
expect_refused '41 is outside (0, 1]' '0.41' -- plan --set mask.density=41
expect_refused '[0.01, 1]' '0.9' -- plan --set mask.pattern=sparge --set mask.sparge.cdf=90
expect_refused '0 is outside [1, 384]' '; 64 ' -- plan --set mask.block=0
expect_refused '--set run.repeats=5' -- run --set run.repeats=abc
lines typed.toml '[run]' 'repeats = "many"'
expect_refused 'typed.toml:2' 'repeats = ' -- plan typed.toml
lines syntax.toml 'repeats 5'
expect_refused 'syntax.toml:1' 'key = value' -- plan syntax.toml
for value in simulate wan2.1-t2v-14b ./a.npy 'a b'; do
  lines bare.toml '[model]' 'layers = 2' "preset = $value  # a comment" '[run]'
  expect_refused 'bare.toml:3' "preset = \"$value\"" -- plan bare.toml
done
lines bare.toml '[run]' 'strategies = [ring, usp]'
expect_refused 'strategies = ["' -- plan bare.toml
lines bare.toml '[run]' 'repeats = 2' 'repeats = 3'
expect_refused 'bare.toml:3' 'key = value' -- plan bare.toml
expect_refused '-s ring -s usp:ulysses=2,ring=2 -s ulysses,' '["ring", "usp:ulysses=2,ring=2", "ulysses"]' \
  -- plan -s ring,usp:ulysses=2,ring=2,ulysses
expect_refused '--set run.repeats=5' -- run --set run.repeats 5
expect_not_err '"5"'
expect_refused '--set run.repeats=VALUE' -- run --set run.repeats --set run.dtype=fp32
cp "$samples/photo_mask.npy" mask.npy
expect_refused 'numpy' 'mask.npy' 'mask.file' 'model.activations' -- run mask.npy
head -c 1000 "$samples/photo_qkv.safetensors" >qkv.safetensors
expect_refused 'qkv.safetensors' 'mask.file' -- run qkv.safetensors
expect_refused '0 is outside (0, 1]' -- plan --set mask.density=0
expect_refused '1.5 is outside (0, 1]' -- plan --set mask.density=1.5
expect_refused 'SPS-007' 'none.toml' 'TOML file' "looked for $PWD/samples/none.toml" -- run samples/none.toml
expect_exit 0 run "${small[@]}" -s ring -o kept.db
expect_err 'kept in kept.db'
expect_refused 'spscope compare kept.db' -- run kept.db
lines mine.toml '[mask]' 'pattern = "window"' '[mask.sparge]' 'cdff = 0.9'
expect_refused 'mine.toml:4' 'did you mean "cdf"?' -- plan mine.toml
