#!/usr/bin/env bash
# Unknown commands and flags end with exit code 2 and the nearest name, whatever they are.
# labels: hostile
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_refused 'SPS-180' '"pln"' 'did you mean "plan"?' -- pln
expect_refused 'SPS-180' '"frobnicate"' '--help' -- frobnicate --json
expect_refused 'SPS-180' '--frce' 'did you mean "--force"?' -- run --frce
expect_refused 'did you mean "--strategy"?' -- plan --stratgy=ring
expect_refused 'did you mean "--heads"?' -- mask generate paro --heds 3
expect_refused '"two.toml"' 'spscope plan' -- plan one.toml two.toml
expect_refused 'spscope report' 'file' -- report
expect_exit 2
expect_err 'compare' 'calibrate' 'mask'
expect_refused '--set run.mode=simulate' -- run --mode simulate
expect_refused '--set mask.density=0.5' -- plan --density=0.5
expect_refused 'SPS-180' -- ''
expect_refused 'SPS-180' -- "$(printf 'x%.0s' {1..10000})"
expect_refused '--ops' '--dot' -- plan --ops --dot
expect_refused '--progress' '"loud"' 'bar, json, none' -- run --progress=loud
expect_refused '--launcher' '"mpii"' 'did you mean "mpi"?' 'threads, mpi' -- run --launcher mpii
expect_refused '--launcher' 'threads|mpi' -- run --launcher
expect_refused '--output' -- run -o
expect_refused 'lacks --output' -- attach -- true
expect_refused 'lacks command: the program' -- attach -o z.db --
expect_refused 'no flag -c' 'put -- before the program' 'spscope attach ... -- python3 ...' -- attach -o z.db python3 -c pass
expect_refused 'did you mean "--scratch"? Else put -- before' -- attach -o z.db --scrtch /tmp true
expect_refused 'no flag --scrtch' 'did you mean "--scratch"?' -- attach -o z.db --scrtch=/tmp -- true
expect_not_err 'before the program'
expect_refused 'spscope export' '--output' -- export kept.db --format csv
expect_refused 'spscope mask' 'info, generate, import' -- mask
expect_refused '--heads' '"many"' -- mask generate paro --heads many
expect_refused '--step' '"last"' -- mask info masks.npy --step last
expect_refused '--seconds: 0.1 is outside [1, 3600]' -- calibrate --seconds 0.1
expect_refused '--every' '"often"' '0.1 to 60' -- watch kept.db --every often
expect_refused '--max-memory' '"much"' '1MiB to 1PiB' '512MiB' -- report kept.db --max-memory much
expect_refused '--max-memory: 10 is outside [1MiB, 1PiB]' -- report kept.db --max-memory 10
expect_refused '--max-memory' -- report kept.db --max-memory 99999999999999999999GiB
