#!/usr/bin/env bash
# A run with a process for each rank gives what thread ranks give: bytes, tiles, verdicts; whoever starts the processes.
# labels: mpi
. "$(dirname -- "$0")/common.inc"
need_mpi

job=("${small[@]}" -s ulysses -s ring --set cluster.ranks=3 --set run.layers=2 --set run.repeats=2)
figures='[(i, x["backend"], x["legal"], x["verify"], x["max_error"], x["bytes_sent"], x["bytes_received"], x["tiles"]) for i, x in sorted(s.items())]'
figures_of() {
  python3 -B -c "import json, sys; s = {x['id']: x for x in json.load(open(sys.argv[1]))['strategies']}; print($figures)" "$1"
}

expect_exit 0 run "${job[@]}" --json
figures_of "$out" >threads
grep -q "'threads'" threads || fail "the backend of thread ranks is not threads"
sed "s/'threads'/'mpi'/g" threads >wanted

expect_exit 0 run "${job[@]}" --json --launcher mpi
figures_of "$out" >launched
cmp wanted launched || fail "launched ranks differ: $(cat launched)"

start_ranks 3 "$SPSCOPE" run "${job[@]}" --json
[ "$code" -eq 0 ] || fail "started by hand: exit code $code"
figures_of "$out" >by_hand
cmp wanted by_hand || fail "ranks that were started by hand differ: $(cat by_hand)"
rm threads wanted launched by_hand
expect_no_files
expect_no_scratch

# Alone under mpirun it is no rank; one that spscope starts is, be it the only one.
start_ranks 1 "$SPSCOPE" run "${job[@]}" --json
[ "$code" -eq 0 ] || fail "alone under mpirun: exit code $code"
expect_json 's["ring"]["backend"] == "threads"'
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=1 --set run.backend=threads --launcher mpi --json
expect_json 's["ring"]["backend"] == "mpi" and s["ring"]["verify"] == "passed"'
expect_no_files
expect_no_scratch

# The file has the events of all ranks, each from a process of its own.
expect_exit 0 run "${job[@]}" --launcher mpi -o kept.db
expect_exit 0 doctor kept.db
expect_exit 0 sql kept.db 'SELECT count(DISTINCT rank), count(DISTINCT pid) FROM rank_process' --json
expect_out '3'

# What the file says was asked runs again, with ranks that are processes.
python3 -B -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT config_toml FROM workload").fetchone()[0])' \
  kept.db >again.toml
grep -q '^backend = "mpi"' again.toml || fail "the file does not say which backend ran"
expect_exit 0 run again.toml --json
figures_of "$out" >again
expect_exit 0 run "${job[@]}" --json --launcher mpi
figures_of "$out" >launched
cmp again launched || fail "the config of a stored run gives something else: $(cat again)"
expect_exit 0 run again.toml --launcher threads --json
expect_json 's["ring"]["backend"] == "threads" and s["ring"]["verify"] == "passed"'
rm again.toml again launched
expect_files kept.db
rm kept.db

# Not as many processes as ranks.
start_ranks 2 "$SPSCOPE" run "${job[@]}"
[ "$code" -eq 2 ] || fail "exit code $code"
expect_err 'SPS-127' '2 processes were started, and the run has 3 ranks' 'mpirun -n 3'
expect_no_files
expect_no_ranks

# Without ranks to start, one of the processes does the work: it alone prints, and writes the file.
start_ranks 3 "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=3 --set run.mode=simulate --launcher mpi \
  --headless --json -o modelled.db
[ "$code" -eq 0 ] || fail "exit code $code of a simulation under mpirun"
expect_json 's["ring"]["mode"] == "simulate"'
expect_exit 0 doctor modelled.db
expect_no_ranks
