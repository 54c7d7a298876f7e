#!/usr/bin/env bash
# A mistake in a config or flag is shown as it was typed, with the way to write what was meant.
# labels: hostile
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
expect_refused '0 is outside (0, 1]' -- plan --set mask.density=0
expect_refused '1.5 is outside (0, 1]' -- plan --set mask.density=1.5
expect_refused 'SPS-007' 'none.toml' 'TOML file' -- run none.toml
expect_exit 0 run "${small[@]}" -s ring -o kept.db
expect_err 'kept in kept.db'
expect_refused 'stored run' 'spscope compare kept.db' -- run kept.db
lines mine.toml '[mask]' 'pattern = "window"' '[mask.sparge]' 'cdff = 0.9'
expect_refused 'mine.toml:4' 'did you mean "cdf"?' -- plan mine.toml
