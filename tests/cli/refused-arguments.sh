#!/usr/bin/env bash
# Arguments, values and questions without sense or bound are refused with a number, what is wrong and the nearest name; nothing
# is computed with them, written or changed.
# labels: hostile
# cost: 8
. "$(dirname -- "$0")/common.inc"

part hostile-values
# Numbers without sense or bound are refused, never computed with: NaN, infinities, 2^63, negative counts, shapes whose
# products overflow.
while read -r setting; do
  expect_refused 'SPS-0' -- plan --set "$setting"
  [[ ! $setting =~ nan|1291|run.layers=5 ]] || expect_refused 'SPS-0' -- run --set "$setting" -o kept.db
done < <(printf '%s\n' mask.density={nan,inf,-inf,0,-0.1,1.1,1e999} mask.block={0,-1,385,2147483648} mask.seed=-1 \
  model.grid={65536\,65536\,65536,1291\,1291\,1288,-1\,4\,4,1\,1\,65537} model.heads={-1,9223372036854775808,4097} \
  model.head_dim=1025 model.text_tokens=1048577 model.batch={0,4097} cluster.ranks={-1,9223372036854775808,1e9} \
  cluster.dp=0 run.repeats={0,-1,100001} run.layers={0,5} run.denoise_steps=0 run.threads_per_rank=0 run.mask_lag=2)
expect_no_files
expect_no_scratch

part unreadable
# A config that is no TOML is refused with its name and place.
printf '[model\n' >syntax.toml
printf '\xff\xfe\0\x01binary\n' >binary.toml
expect_refused 'SPS-001' 'syntax.toml:1:7' -- plan syntax.toml
expect_refused 'SPS-001' 'binary.toml:1:' -- plan binary.toml

part unknown
# Unknown commands and flags end with exit code 2 and the nearest name, whatever they are.
expect_refused 'SPS-180' '"pln"' 'did you mean "plan"?' -- pln
expect_refused 'SPS-180' 'did you mean "mask import"?' -- import masks.npz
expect_refused 'mask.file' '--> --mask nofile.npy' -- advise --model wan-mini --cluster h100x8 --mask nofile.npy
expect_refused 'SPS-180' '--frce' 'did you mean "--force"?' -- run --frce
expect_refused '"two.toml"' 'spscope plan' -- plan one.toml two.toml
expect_refused 'spscope report' 'file' -- report
expect_exit 2
expect_err 'compare' 'calibrate' 'mask'
expect_refused '--set run.mode=simulate' -- run --mode simulate
expect_refused 'SPS-180' -- "$(printf 'x%.0s' {1..10000})"
expect_refused '--ops' '--dot' -- plan --ops --dot
expect_refused '--progress' '"loud"' 'bar, json, none' -- run --progress=loud
expect_refused '--launcher' '"mpii"' 'did you mean "mpi"?' 'threads, mpi' -- run --launcher mpii
expect_refused '--output' -- run -o
expect_refused 'needs --output' -- attach -- true
expect_refused 'spscope check needs a folder' 'folder: what run --dump wrote' -- check
expect_refused 'needs a command' 'command: the program' -- attach -o z.db --
expect_refused 'no flag -c' 'put -- before the program' 'spscope attach ... -- python3 ...' -- attach -o z.db python3 -c pass
expect_refused 'did you mean "--scratch"? Else put -- before' -- attach -o z.db --scrtch /tmp true
expect_refused '--delay and --signal exclude each other' 'give one of them' -- attach -o z.db --delay 1 --signal USR1 -- true
expect_refused '--duration and --signal and --profiler-ranges exclude' -- attach -o z.db --duration 1 --signal USR2 --profiler-ranges -- true
expect_refused '--delay: -1 is outside' -- attach -o z.db --delay -1 -- true
expect_refused '--duration: 0 is outside' -- attach -o z.db --duration 0 -- true
expect_refused '--signal: "KILL" is not a choice' 'USR1, USR2' -- attach -o z.db --signal KILL -- true
expect_refused 'spscope mask' 'info, generate, import' -- mask
expect_refused '--seconds: 0.1 is outside [1, 3600]' -- calibrate --seconds 0.1
expect_refused '--every' '"often"' '0.1 to 60' -- watch kept.db --every often

part arguments
# Flags of mask that are outside every sense are refused, also those whose products would overflow.
python3 -B "$scripts/bad_arrays.py" .
while read -r -a arguments; do
  expect_refused 'error SPS-' -- mask "${arguments[@]}"
done < <(printf '%s\n' \
  'generate pro' 'generate paro --grid 2,6' 'generate paro --grid 0,6,4' 'generate paro --grid 100000,100000,10' \
  'generate paro --grid -1,4,4' 'generate paro --heads -1' 'generate paro --heads 0' \
  'generate paro --heads 99999999999' 'generate paro --density nan' 'generate paro --density 0' \
  'generate paro --density 1.5' 'generate paro --block 0' 'generate paro --block 2147483647' \
  'generate paro --step 2147483647' 'generate paro --layer -1' 'generate paro --text-tokens -5' \
  'generate paro --text-tokens 2147483647' 'generate window --set radus=3' 'generate window --set radius=-3' \
  'generate window --set radius' 'generate dense --grid 1000,1000,1000 --heads 4000' \
  'info good.npy --block 2147483647' 'info good.npy --block 0' 'info good.npy --tokens -5' \
  'info good.npy --tokens 99999999999999' 'info good.npy --layer 2147483647' 'generate' 'info' 'import good.npy')
expect_refused 'did you mean "info"?' -- mask inf

part refused
# sql writes nothing and reads nothing else: every statement but one question is refused, and the file stays as it was.
expect_exit 0 run "${small[@]}" -s ring -o kept.db
cp kept.db copy.db
for statement in 'DROP TABLE run' '' "SELECT readfile('kept.db')" "SELECT writefile('other.db', 'x')"; do
  expect_refused 'error SPS-' -- sql kept.db "$statement"
done
cmp kept.db copy.db || fail "the file was changed"
expect_files kept.db copy.db
expect_refused 'did you mean "strategy"?' -- sql kept.db 'SELECT * FROM strategi'
expect_refused 'no such column: lable' 'did you mean "label"?' 'sqlite_master' -- sql kept.db 'SELECT lable FROM strategy'
expect_refused 'SPS-157' 'DELETE' 'plain-sqlite' -- sql kept.db 'DELETE FROM run'
expect_refused 'SPS-157' 'SELECT' -- sql kept.db 'SELEC 1'
expect_exit 0 sql kept.db 'SELECT name, sql FROM sqlite_master'
expect_refused 'SPS-150' 'missing.db' -- sql missing.db 'SELECT 1'
