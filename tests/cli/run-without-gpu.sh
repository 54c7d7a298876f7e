#!/usr/bin/env bash
# Programs start without any library of NVIDIA's. run.device = cuda then says what is missing and how to go on, and runs
# nothing.
. "$(dirname -- "$0")/common.inc"
unset "${!OMPI_@}" "${!PMI@}" "${!SLURM_@}" LD_LIBRARY_PATH

for program in "$SPSCOPE" "$(dirname -- "$SPSCOPE")/spscope-gui"; do
  [ -e "$program" ] || continue
  objdump -p "$program" | grep NEEDED >"$out"
  ! grep -E 'libcu|libnv|libnccl' "$out" || fail "$program needs a library of NVIDIA's to start"
done

# expect_refused CODE TEXT...: a run on GPUs ends with this error and leaves no file.
expect_refused() {
  local id=$1
  shift
  expect_exit 2 run "${small[@]}" -s ring --set cluster.ranks=2 --set run.device=cuda -o refused.db
  expect_err "$id" "$@" 'run.device = "cpu"'
  [ ! -e refused.db ] || fail "a refused run left a file"
  grep -q "^## $id: " "$SOURCE_DIR/docs/troubleshooting.md" || fail "$id is not explained"
}

if [ -z "${FAKE_CUDA:-}" ]; then
  expect_refused SPS-181 'built without kernels for GPUs' 'scripts/setup cuda'
  expect_exit 0 doctor
  expect_out 'cuda ranks by threads' 'cuda ranks by mpi' 'built without kernels for GPUs' 'CUDA compiler'
  exit 0
fi

mkdir driver
export LD_LIBRARY_PATH=$PWD/driver
expect_gpu_missing() { expect_refused SPS-129 "$@"; }
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  expect_gpu_missing 'there is no CUDA driver: libcuda.so.1' "install NVIDIA's driver"
fi
: >driver/libcuda.so.1
expect_gpu_missing 'there is no CUDA driver: ' 'file too short'
cp -L "$(ldconfig -p | awk '/libz\.so\.1 / { print $NF; exit }')" driver/libcuda.so.1 # a library without its functions
expect_gpu_missing 'too old' 'it has no cu' 'install a driver for CUDA 13.0 or newer'
expect_exit 0 doctor
expect_out 'cuda ranks by threads' 'too old'

LD_LIBRARY_PATH=$FAKE_CUDA
SPSCOPE_FAKE_CUDA=driver=12040 expect_gpu_missing 'too old' 'it is for CUDA 12.4'
SPSCOPE_FAKE_CUDA=devices=0 expect_gpu_missing 'no GPU that this process may use' 'CUDA_VISIBLE_DEVICES'
SPSCOPE_FAKE_CUDA="devices=2 capability=8.0" expect_exit 0 doctor
expect_out 'CUDA driver' 'GPU 0' 'GPU 1' 'spscope fake device, compute capability 8.0' 'cuda ranks by mpi'
