#!/usr/bin/env bash
# A run whose ranks are threads runs as such where a process manager has left its variables: alone in a step of srun or
# under mpirun, and wherever the user says so.
. "$(dirname -- "$0")/common.inc"
unset "${!OMPI_@}" "${!PMI@}" "${!SLURM_@}"
job=("${small[@]}" -s ring --set cluster.ranks=2 --json)

# expect_threads VARIABLE=VALUE... -- ARGUMENT...: runs the program in this environment.
expect_threads() {
  local set=()
  while [ "$1" != -- ]; do
    set+=("$1")
    shift
  done
  shift
  expect_code 0 env "${set[@]}" "$SPSCOPE" run "${job[@]}" "$@"
  expect_json 's["ring"]["backend"] == "threads" and s["ring"]["verify"] == "passed"'
}
expect_threads PMIX_RANK=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=8 --
expect_threads PMIX_RANK=0 SLURM_NTASKS=1 --
expect_threads PMI_RANK=0 PMI_SIZE=1 --
expect_threads OMPI_COMM_WORLD_SIZE=1 PMIX_RANK=0 --
expect_threads SLURM_NTASKS=8 --

# Names of executors that are not there, with those that are.
while read -r key value known; do
  expect_exit 2 run "${job[@]}" --set "run.$key=$value"
  expect_err 'SPS-005' "run.$key" "\"$value\"" "$known"
done <<'END'
backend processes threads, mpi
device abacus cpu
comm pigeon auto, memory
END
expect_threads PMIX_RANK=0 SLURM_NTASKS=1 -- --set run.comm=memory
expect_exit 2 run "${job[@]}" --launcher mpi --set run.comm=memory
expect_err 'SPS-125' 'run.comm' 'no communicator "memory"' 'use one of auto'
for others in OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=0; do
  expect_threads "$others" -- --launcher threads
  expect_threads "$others" -- --set run.backend=threads
done
