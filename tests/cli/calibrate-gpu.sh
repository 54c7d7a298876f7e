#!/usr/bin/env bash
# calibrate --device cuda on the fake CUDA driver: a profile that names the GPU and that simulate and advise take; runs
# on the GPU call it by its name, and ranks that share it have no times to compare. What fails leaves no file.
. "$(dirname -- "$0")/common.inc"
unset "${!OMPI_@}" "${!PMI@}" "${!SLURM_@}"

if [ -z "${FAKE_CUDA:-}" ]; then
  expect_refused SPS-181 'built without kernels for GPUs' -- calibrate --device cuda -o gpu.toml
  expect_no_files
  exit 0
fi
export LD_LIBRARY_PATH=$FAKE_CUDA
short=(calibrate --device cuda --dtype bf16 --seconds 1 --tokens 128)

# fails SETTINGS CODE TEXT...
fails() {
  SPSCOPE_FAKE_CUDA="$1 times=planted" expect_exit "$2" "${short[@]}" -o gpu.toml
  expect_err "${@:3}"
  expect_no_files
}
fails 'memory=3000000' 1 SPS-131 'attention kernel: cuMemAlloc' '--tokens'
fails 'capability=7.5' 1 SPS-130 'CUDA_ERROR_NO_BINARY_FOR_GPU' 'compute capability 8.0'
fails 'devices=0' 2 SPS-129 'no GPU that this process may use'
SPSCOPE_FAKE_CUDA='sms=80 times=planted' expect_exit 2 "${short[@]}" --comm-sms 80
expect_err SPS-180 '80 of 80 SMs'

export SPSCOPE_FAKE_CUDA='sms=132 memory=1000000000 times=planted'
expect_exit 0 "${short[@]}" -o gpu.toml --json
expect_json 'd["device"] == "cuda"' 'd["machine"]["GPU"] == d["name"] == "spscope fake device"' \
  'd["machine"]["SMs"] == "132"' 'd["machine"]["clock"] == "1980 MHz at most"' '"CUDA driver" in d["machine"]' \
  'all(n["value"] > 0 and n["source"] for n in d["numbers"].values())' \
  'abs(d["numbers"]["network.compute_slowdown"]["value"] - 132 / 116) < 1e-4' 'd["file"] == "gpu.toml"' \
  'd["fma_gflop_per_s"] is None' 'all(f["max_relative_residual"] < 1e-3 for f in d["fit"].values())' 'd["launch_gap_ns"] < 1' \
  'len(d["attention"]) == d["fit"]["attend"]["points"]' 'd["numbers"]["network.compute_slowdown"]["spread"] < 1e-3'
expect_files gpu.toml
expect_err '[network] has the speed of one GPU'
grep -q '^# \[network\] has the speed of one GPU' gpu.toml || fail 'gpu.toml does not say that it has no link'
grep -q '^link_gbps = .*from = "assumed"' gpu.toml || fail 'the link of one GPU is not assumed'
SPSCOPE_FAKE_CUDA='devices=2 sms=132 memory=1000000000 times=planted' expect_exit 0 "${short[@]}" -o two.toml
! grep -q '^# \[network\]' two.toml || fail 'the link of two GPUs is called none'
rm two.toml
expect_exit 0 "${short[@]}"
expect_out 'GPU spscope fake device' 'compute beside an exchange takes' 'host, each launch' 'packing, each byte'
expect_err 'nothing was written'

# Its table of attention is one that --attention reads.
grep -E '^# [a-z0-9._,-]+$' gpu.toml | sed 's/^# //' >own.csv
expect_exit 0 calibrate --attention own.csv --cluster gpu.toml --json
expect_json 'd["kernel"] == "own"' 'all(abs(t["fitted_ms"] / t["measured_ms"] - 1) < 1e-3 for t in d["times"])' 'len(d["times"]) > 5'
rm own.csv

on_gpu=(--set cluster.profile=gpu.toml --set cluster.ranks=4)
expect_exit 0 run "${small[@]}" "${on_gpu[@]}" --set run.mode=simulate -s ring -s ulysses
expect_out '4 ranks of spscope fake device' 'compute modelled, network scheduled'
expect_exit 0 advise --model wan-mini --ranks 4 --density 0.3 --set model.heads=8 --set model.head_dim=24 \
  --set cluster.guidance=1 --set cluster.dp=1 --set cluster.profile=gpu.toml --seeds 1
expect_out 'On a usual one use ' '4 ranks of spscope fake device'

# Runs on the GPU itself: these compute.
export SPSCOPE_FAKE_CUDA=''
expect_exit 0 run "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=project -s ring
expect_out 'compute measured on spscope fake device'
expect_exit 0 run "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=execute -s ring -o ran.db
expect_out 'executed on spscope fake device ranks' 'has fewer GPUs than'
expect_exit 0 sql ran.db "SELECT CASE WHEN min(coalesce(host_post_ns, 0)) > 0 THEN 'timed' END AS host FROM rank_usage" --csv
expect_out 'timed'
for mode in project execute; do
  expect_exit 0 run "$samples/gpu.toml" "${small[@]}" --set model.heads=4 --set run.mode=$mode --json
  expect_json "len(s) == 4" "all(x['verify'] == 'passed' for x in s.values())"
done
# Kernels that compute nothing leave wrong outputs, also in a projection.
SPSCOPE_FAKE_CUDA='times=planted' expect_exit 1 run "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=project -s ring --json
expect_json 'all(x["verify"] == "failed" for x in s.values())'
SPSCOPE_FAKE_CUDA='devices=2' expect_exit 0 run "${small[@]}" --set cluster.ranks=2 --set run.device=cuda --set run.mode=execute -s ring --json
expect_json 'all(x["timing"] == "clean" for x in s.values())'
