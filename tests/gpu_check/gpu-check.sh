#!/usr/bin/env bash
# gpu-check without a GPU, and all of it on the emulated driver, CUPTI and NVML with tiny sizes, with stubs of PyTorch, of
# nvidia-smi and of compute-sanitizer: budgets, results, resuming, failures. Figures of the emulated driver are never compared
# with limits.
set -euo pipefail
: "${GPU_CHECK:?}" "${FAKE_CUDA:?}" "${FAKE_CUPTI:?}" "${FAKE_NVML:?}" "${SOURCE_DIR:?}" "${PYTHON:?}"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
stubs=$SOURCE_DIR/tests/gpu_check/stubs
code=0

fail() {
  echo "FAILED: $*"
  cat out
  exit 1
}
# expect CODE ARGUMENT...: gpu-check ends with the code.
expect() {
  local expected=$1
  shift
  code=0
  "$GPU_CHECK" "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "gpu-check $* ended with $code"
}
judge() { "$PYTHON" -B "$SOURCE_DIR/tests/gpu_check/judge.py" "$@" || fail "$*"; }

# Without a GPU all checks are skipped.
export CUDA_VISIBLE_DEVICES=
expect 0 --list
awk '$1 == "calibrate" { exit (s + $2 > 45) } { s += $2 }' out || fail "a budget of 60 s does not leave a profile"
expect 1 --out none
judge none no_device
grep -q '^| pack | skipped | 0.0 | not measured: no device |$' none/results.md || fail "results.md"
expect 77 --check pack --out alone
grep -q 'not measured: no device' out || fail "--check without a device"
expect 2 --budget 29
expect 2 --rounds few
expect 2 --only nothing

# On the emulated driver.
unset CUDA_VISIBLE_DEVICES
export LD_LIBRARY_PATH=$FAKE_CUDA:$FAKE_CUPTI:$FAKE_NVML SPSCOPE_FAKE_CUDA=memory=600000000 PATH=$stubs:$PATH
expect 0 --tiny --python "$stubs/python-with-torch" --out fake
judge fake emulated
judge fake fact one-sided "SM clock" "1755 to 1755 MHz"
# The profile of the GPU stands beside the results, and advise takes it.
"$(dirname "$GPU_CHECK")/spscope" advise --model wan-mini --ranks 4 --seeds 1 --cluster fake/spscope-fake-device.measured.toml \
  --set cluster.guidance=1 --set cluster.dp=1 >out 2>&1 || fail "advise with the measured profile"

# Of several GPUs, checks and their peers see the first alone.
cat >python <<END
#!/usr/bin/env bash
echo "\$CUDA_VISIBLE_DEVICES" >"$work/seen"
exec "$stubs/python-with-torch" "\$@"
END
chmod +x python
SPSCOPE_FAKE_CUDA="devices=2 memory=600000000" expect 0 --tiny --only layer-error --python "$work/python" --out first
judge first only_gpu "$(cat seen)"

# On a GPU that is 20 times slower a budget of 30 s is kept: there is no time for racecheck, and what has not ended is stopped.
# What was archived is what stands in the folder, also when gpu-check is killed, whose check and what it started then end, too.
judge_archive() {
  mkdir -p unpacked
  tar -xzf checked.tgz -C unpacked
  tar -dzf checked.tgz -C "$1" || fail "the archive of $1"
  shift
  judge unpacked "$@"
}
export SPSCOPE_FAKE_CUDA="memory=600000000 slow=20"
SECONDS=0
expect 1 --tiny --only doctor --only one-sided --only ipc --only racecheck --budget 30 --archive checked.tgz --out budget
[ "$SECONDS" -le 30 ] || fail "a budget of 30 s took $SECONDS s"
grep -qE '^left out for lack of time: .*racecheck$' out || fail "what it left out"
judge_archive budget skipped racecheck "no time is left" none
rm checked.tgz
"$GPU_CHECK" --tiny --only measure --only calibrate --archive checked.tgz --out killed >out 2>&1 &
until pgrep -f "$work/killed/calibrate/spscope" >/dev/null; do kill -0 $! || fail "it ended"; sleep 0.1; done
kill -9 $!
for i in {50..0}; do pgrep -f "$work/killed/calibrate" >/dev/null || break; [ "$i" -gt 0 ] || fail "its check goes on"; sleep 0.1; done
judge_archive killed none_failed
expect 0 --tiny --only measure --only pack --rounds 1 --resume --archive checked.tgz --out killed
! grep -q '^measure' out || fail "--resume runs what has passed"
export SPSCOPE_FAKE_CUDA=memory=600000000
expect 0 --diff fake/results.json killed/results.json
grep -qE '^pack +pack over copy ' out || fail "figures of two results side by side"
grep -qE '^only A ran .*conformance-8, ' out || fail "checks that one side has not run"
expect 2 --diff fake/results.json fake/results.md
# Of a check that only the second ran, and a figure that is no number in the first.
python3 -B -c 'import json
results = json.load(open("fake/results.json"))
results["checks"] = [check for check in results["checks"] if check["name"] != "measure"]
next(check for check in results["checks"] if check["name"] == "pack")["figures"][0]["value"] = None
json.dump(results, open("edited.json", "w"))'
expect 0 --diff edited.json fake/results.json
grep -qE '^only B ran .*measure' out || fail "a check that only the second has"
grep -qE '^pack +[a-z].* - +[0-9.e+-]+ +- ' out || fail "a figure that is no number"

# What has passed is not run again; what failed, or was skipped (collect-nccl), is.
SPSCOPE_FAKE_CUDA='fail=spscope_attend*:1' expect 1 --tiny --only measure --only run --out fake
judge fake failed measure CUDA_ERROR
judge fake failed run "without collectors the run fails, too"
STUB_ERRORS=1 expect 1 --tiny --only racecheck --out fake
judge fake failed racecheck "it found errors"
expect 0 --tiny --resume --out fake
[ "$(grep -cE '^[a-z][a-z0-9-]* +(passed|skipped|failed)' out)" -le 4 ] || fail "--resume runs what has passed"
judge fake none_failed

grep -q '^| attention-8k | .*stub of PyTorch' fake/results.md || fail "facts in results.md"

# A word that a stream loses, a handle whose memory is gone and opens all the same, and a process that ends early.
SPSCOPE_FAKE_CUDA=lost=100 expect 1 --tiny --only ipc --out ipc
judge ipc failed ipc "a word does not come: side 0 sent 50 and took 49"
SPSCOPE_FAKE_CUDA=stale=1 expect 1 --tiny --only ipc --out ipc
judge ipc failed ipc "a handle of memory that is freed can be opened"
SPSCOPE_FAKE_CUDA=lost=1 "$GPU_CHECK" --check ipc --tiny --out ipc >out 2>&1 &
until peer=$(pgrep -P $!); do kill -0 $! || fail "it ended"; sleep 0.1; done
kill -9 "$peer"
if wait $! || ! grep -q 'with signal 9' out; then fail "how a process ended"; fi

# Results of another driver are not mixed with these, and those without a GPU give way; a missing PyTorch skips the
# comparison alone, and an mpirun of another MPI is none.
SPSCOPE_FAKE_CUDA=driver=13990 expect 2 --tiny --only pack --out fake
grep -q 'choose another --out' out || fail "results of another driver"
expect 2 --only pack --out fake
grep -q 'holds results of sizes "tiny", this is "full"' out || fail "results of other sizes"
expect 0 --tiny --resume --only one-sided --out none
expect 0 --tiny --only attention-8k --only layer-error --python "$PYTHON" --out bare
judge bare skipped attention-8k PyTorch
judge bare skipped layer-error PyTorch
expect 0 --tiny --only attention-8k --python "$work/no-python" --out bare
judge bare skipped attention-8k no-python
mkdir other-mpi
printf '#!/bin/sh\necho "HYDRA build details"\n' >other-mpi/mpirun
chmod +x other-mpi/mpirun
PATH=$work/other-mpi:$PATH expect 0 --tiny --only processes --out bare
grep -qE "mpirun is not Open MPI's|without Open MPI" out || fail "an mpirun of another MPI"

# What a collector drops is counted, and a CUPTI that refuses fails the check; so do kernels that torch.profiler does not
# see, ranges that are not stored, results that change under attach, and a torch.profiler that attach does not name.
SPSCOPE_FAKE_CUPTI=drop=50 expect 1 --tiny --only collect-cost --out drops
judge drops failed collect-cost "were dropped"
SPSCOPE_FAKE_CUPTI=other=Some_Tool expect 1 --tiny --only collect-rate --out drops
judge drops failed collect-rate "run without Some Tool"
torch() { expect 1 --tiny --only attach-torch --python "$stubs/python-with-torch" --out torch; }
STUB_KERNELS=1 torch
judge torch failed attach-torch "a kernel of nobody: 0 and 3"
STUB_CHECKSUM_ATTACHED=0 torch
judge torch failed attach-torch "results change"
STUB_RANGES=3 torch
judge torch failed attach-torch "0 are stored with 0 names; the program made 3"
STUB_BOTH='' torch
judge torch failed attach-torch "does not name torch.profiler"
STUB_INSIDE=6 expect 1 --tiny --only collect-window --python "$stubs/python-with-torch" --out torch
judge torch failed collect-window "is stored 6 times; 7 steps are in the window"
STUB_NCCL=1 expect 1 --tiny --only collect-nccl --python "$stubs/python-with-torch" --out torch
judge torch failed collect-nccl "no sum of NCCL is stored"

# nvidia-smi of an old driver, and none; other readings are seen, though not judged here.
STUB_SMI=old SPSCOPE_FAKE_NVML=set=sm_clock:1000 expect 0 --tiny --only collect-nvml --out smi
judge smi figure collect-nvml "SM clock against nvidia-smi's" 0.4302
PATH=/usr/bin:/bin expect 0 --tiny --only collect-nvml --out bare
judge bare skipped collect-nvml nvidia-smi none

# libcupti: none; that of the loader, though of an older CUDA than the driver; that of a package of PyPI, which is newer.
export LD_LIBRARY_PATH=$FAKE_CUDA
mkdir packages
ln -s "$FAKE_CUPTI/libcupti.so.13" packages/
# A machine with one of its own finds that first.
[ -e /usr/local/cuda ] || ldconfig -p | grep -q libcupti || {
  expect 0 --tiny --only collect-rate --only collect-cost --python "$PYTHON" --out bare
  judge bare skipped collect-rate "install CUPTI" none
  judge bare skipped collect-cost "install CUPTI" none
  export LD_LIBRARY_PATH=$FAKE_CUDA:$FAKE_CUPTI/../12
  expect 0 --tiny --only collect-rate --python "$stubs/python-with-torch" --out cupti
  judge cupti fact collect-rate libcupti "$(realpath "$FAKE_CUPTI/../12/libcupti.so.12")"
  STUB_PACKAGES=$work/packages expect 0 --tiny --only collect-rate --python "$stubs/python-with-torch" --out cupti
  judge cupti fact collect-rate libcupti "$(realpath "$FAKE_CUPTI/libcupti.so.13")"
}
