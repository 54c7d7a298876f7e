#!/usr/bin/env bash
# Unknown commands and flags end with exit code 2 and the nearest name, whatever they are.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_refused 'SPS-180' 'there is no command "pln"' 'did you mean "plan"?' -- pln
expect_refused 'SPS-180' 'there is no command "frobnicate"' '--help' -- frobnicate --json
expect_refused 'SPS-180' 'no flag --frce' 'did you mean "--force"?' -- run --frce
expect_refused 'did you mean "--strategy"?' -- plan --stratgy=ring
expect_refused 'did you mean "--heads"?' -- mask generate paro --heds 3
expect_refused '"two.toml" is one argument too many for spscope plan' -- plan one.toml two.toml
expect_refused 'file is required' -- report
expect_exit 2
expect_err 'compare' 'calibrate' 'mask'
expect_refused '--set run.mode=simulate' -- run --mode simulate
expect_refused '--set mask.density=0.5' -- plan --density=0.5
expect_refused 'SPS-180' -- ''
expect_refused 'SPS-180' -- "$(printf 'x%.0s' {1..10000})"
expect_refused '--ops' '--dot' -- plan --ops --dot
expect_refused '--progress' -- run --progress=loud
