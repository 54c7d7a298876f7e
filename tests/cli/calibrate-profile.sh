#!/usr/bin/env bash
# A profile of this machine, measured, and one that is fitted to a table of times.
# cost: 6
. "$(dirname -- "$0")/common.inc"

part measured
# calibrate writes a profile that a projection uses, and does not replace one without --force or another file at all. On a busy
# machine it may measure nothing between threads; it says so and asks for more seconds.
for seconds in 1 3 6 12; do
  "$SPSCOPE" calibrate --seconds $seconds -o mine.toml --json >"$out" 2>"$err" && break
  expect_err 'could not measure' 'with a longer --seconds'
  expect_files
done
expect_json 'd["numbers"]["cost.attend_ns_per_pair_channel"]["value"] > 0' 'd["fma_gflop_per_s"] > 0'
expect_files mine.toml
expect_exit 0 run "${small[@]}" --set run.mode=project --set cluster.profile=mine.toml --set cluster.ranks=2 -s ring -s ulysses --json
expect_json 'all(x["makespan_ns"] > 0 for x in s.values())'
cp mine.toml before
expect_refused 'SPS-153' '--force' -- calibrate --seconds 1 -o mine.toml
cmp mine.toml before || fail "the profile was replaced"
lines notes.txt 'mine'
expect_exit 2 calibrate --seconds 1 -o notes.txt --force
[ "$(cat notes.txt)" = mine ] || fail "another file was replaced"
expect_refused 'SPS-158' -- calibrate --seconds 1 -o missing/mine.toml
expect_refused '--seconds' -- calibrate --seconds nan

part fitted
# calibrate --fit brings a profile nearer to a table of times, and names file, line and column of what it cannot read.
lines mine.csv 'id,model,gpu,interconnect,gpus,ulysses,resolution,steps,scope,value,unit,implementation' \
  'one,FLUX.1-dev,H100,NVLink,1,1,1024x1024,28,e2e,6.2,s,compiled' \
  'two,FLUX.1-dev,H100,NVLink,2,2,1024x1024,28,e2e,3.6,s,compiled' \
  'four,FLUX.1-dev,H100,NVLink,4,4,1024x1024,28,e2e,2200,ms,compiled'
expect_exit 0 calibrate --fit mine.csv -o mine.toml --json
expect_json 'd["median_error_after"] < d["median_error_before"]' '[t["id"] for t in d["times"]] == ["one", "two", "four"]' \
  'd["times"][2]["measured_s"] == 2.2'
expect_files mine.csv mine.toml
expect_exit 0 run "${small[@]}" --set run.mode=simulate --set cluster.profile=mine.toml --set cluster.ranks=2 -s ulysses --json
expect_json 'all(x["makespan_ns"] > 0 for x in s.values())'

# A time that the fit does not come near is named; the others are not.
expect_exit 0 calibrate --fit mine.csv
expect_not_err 'warning:'
{ cat mine.csv && echo 'far,FLUX.1-dev,H100,NVLink,4,4,1024x1024,28,e2e,11,s,compiled'; } >far.csv
expect_exit 0 calibrate --fit far.csv -o far.toml
expect_err 'warning: far stays -' ' % off: its columns, or the code that it is of, are unlike the others'
[ "$(grep -c 'warning:' "$err")" -eq 1 ] || fail "other times than that are called misfits"

# refused OLD NEW TEXT...: the table with one cell changed.
refused() {
  sed "s/$1/$2/" mine.csv >bad.csv
  shift 2
  expect_refused "$@" -- calibrate --fit bad.csv
}
refused '2200,ms' 'soon,ms' 'bad.csv' '"soon"' ':4:'
refused '3.6,s' '3.6,hours' 'bad.csv' '"hours"' 's/step' ':3:'
refused '4,4,1024x1024' '4,2,1024x1024' 'bad.csv' '4 GPUs' ':4:'
refused 'FLUX.1-dev,H100,NVLink,2' 'FLUX.1-none,H100,NVLink,2' 'FLUX.1-none'
refused 'scope' 'scape' 'has no column scope'
expect_refused 'none.csv' -- calibrate --fit none.csv

# calibrate --attention puts a kernel of the user in the place of a cluster's: 2 us a launch, 4 ps a pair and channel.
lines own.csv 'tokens,block,density,ms' '8192,128,0.5,17.181869' '8192,128,1,34.361738' '4096,64,0.25,2.149484'
expect_exit 0 calibrate --attention own.csv --cluster h100x8 --model wan-mini -o own.toml --json
expect_json 'abs(d["numbers"]["cost.attend_ns_per_pair_channel"] - 4e-3) < 1e-5' 'abs(d["numbers"]["cost.attend_ns_per_launch"] - 2000) < 20'
expect_exit 0 run "${small[@]}" --set run.mode=simulate --set cluster.profile=own.toml --set run.attention_kernel=own --set cluster.ranks=2 -s ulysses
# advise answers for it, and for no other kernel; what lies outside of the layers is that of the model.
expect_exit 0 advise --model wan-mini --cluster own.toml --ranks 2 --density 0.3 --seeds 1 -s ulysses --json
expect_json 'd["attention_kernel"] == "own"' '" with torch.compile and own." in d["sentences"][0]'
outside() { grep -o 'per_run_ns = { value = [0-9.]*' "$1"; }
expect_exit 0 calibrate --attention own.csv --cluster h100x8 --model wan2.1-t2v-14b -o large.toml
[[ $(outside own.toml) && $(outside own.toml) != "$(outside large.toml)" ]] || fail 'the profile is not of its model'
expect_refused 'needs a cluster' -- calibrate --attention own.csv
expect_refused 'needs a model' 'spscope list models' -- calibrate --attention own.csv --cluster h100x8
expect_refused 'wan-mimi' -- calibrate --attention own.csv --cluster h100x8 --model wan-mimi
lines own.csv 'tokens,block,density,ms' '8192,128,1.5,4' '8192,16384,0.5,4' '8192,128,0.5,soon'
expect_refused 'own.csv:2' '"1.5" is above 1' 'own.csv:3' '16384 tokens' 'own.csv:4' '"soon"' -- calibrate --attention own.csv --cluster h100x8 --model wan-mini
