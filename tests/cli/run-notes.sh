#!/usr/bin/env bash
# What a run says before it starts and is refused for, when ranks crowd the cores or it would take minutes; which settings it
# picks; and how sure its times are.
. "$(dirname -- "$0")/common.inc"

part oversubscribed
# Ranks that share cores get no speed-up, neither as a number nor in the table, and the reader is told why.
ranks=$(($(nproc) + 1))
expect_exit 0 run -s ring -s single "${small[@]}" --set cluster.ranks=$ranks
expect_out 'fewer cores than ranks'
expect_not_out 'vs ring'
expect_not_out 'fastest'
expect_exit 0 run -s ring "${small[@]}" --set cluster.ranks=$ranks --json
expect_json 'all(x["timing"] == "oversubscribed" and x["speedup"] is None for x in s.values())'

part long-compute
# A run of over two minutes that does not say run.mode is refused before anything is made, with both ways on.
wan=(--set model.preset=wan2.1-t2v-14b -s "usp:ulysses=2,ring=2")
expect_refused 'SPS-128' 'TFLOP' 'run.mode=simulate' 'run.mode=execute' -- run "${wan[@]}" -o kept.db
expect_no_files
expect_no_scratch
# Given in a flag or in the config, the mode is taken.
expect_exit 0 run "${wan[@]}" --set run.mode=simulate --set run.layers=1 --set cluster.preset=h100x8 -s ring
printf '[run]\nmode = "simulate"\n' >said.toml
expect_exit 0 run said.toml "${wan[@]}" --set run.layers=1

part all
# `all` stands for every strategy at its best setting: refused ones fold into one line, and a winner is named only when
# everything that was asked for by name could run.
h100=(--set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set model.head_dim=24)
expect_exit 0 run "${h100[@]}"
expect_out 'Each strategy is shown with its best setting' 'Not possible here: dsp (' 'By the model, '
expect_not_out 'cannot run'
expect_exit 0 run "${h100[@]}" --json
expect_json '"usp" in s and s["usp"]["legal"] and s["usp"]["pick"]["settings"] == 4' \
  's["usp"]["resolved"]["ulysses"] * s["usp"]["resolved"]["ring"] == 8' \
  's["dsp"]["pick"]["settings"] == 0 and not s["dsp"]["legal"]' '"single" not in s'

# `-s all` is the default, and one name among others.
expect_exit 0 run "${h100[@]}" -s all -s usp:ulysses=2,ring=4,order=cyclic,ranks=strided --json
expect_json 's["usp-2"]["parameters"]["ranks"] == "strided" and s["usp-2"]["pick"] is None' 's["usp"]["pick"] is not None'

# Of what was named one cannot run: nothing is the fastest of that.
expect_exit 0 run "${h100[@]}" -s ring -s ulysses -s usp:ulysses=2,ring=2
expect_out 'No winner is named, since usp was asked for' 'usp cannot run: ulysses 2 x ring 2 makes 4 ranks'
expect_out 'is the fastest of the others'

# Plans and executed runs are of the picked settings only.
expect_exit 0 plan "${h100[@]}" -s all
expect_out 'Not possible here: dsp ('
expect_exit 0 run "${small[@]}" --set cluster.ranks=2 -o kept.db --json
expect_json 'all(x["verify"] != "failed" for x in s.values())' 's["ring"]["pick"]["predicted_ns"] > 0' '"usp" not in s'
expect_exit 0 compare kept.db --json
expect_json 's["ring"]["pick"]["predicted_ns"] > 0'

expect_refused '"all" takes no parameters' -- run -s all:ulysses=2

part range
# Numbers of a network that differ from host to host make times a range; others do not.
simulate=(run --set "model.grid=8,30,40" --set model.heads=8 --set model.head_dim=64 --set mask.block=16 --set run.mode=simulate -s ring -s ulysses)
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=8 --json
expect_json 'all(x["makespan_low_ns"] < x["makespan_ns"] < x["makespan_high_ns"] for x in s.values())'
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=8
expect_out 'range' 'the slowest network of such hosts'
# Inside a node with NVLink that is what published runs contradict: how fast a hop is under attention, and how much it slows it.
expect_exit 0 "${simulate[@]}" --set cluster.preset=a100x8 --set cluster.ranks=8 --json
expect_json 's["ulysses"]["makespan_low_ns"] is None' \
  's["ring"]["makespan_low_ns"] < s["ring"]["makespan_ns"] == s["ring"]["makespan_high_ns"]'
# What the host of eager code takes differs from machine to machine, too.
expect_exit 0 "${simulate[@]}" --set cluster.preset=a100x8 --set cluster.ranks=8 --set run.scope=layer --set run.implementation=eager --json
expect_json 's["ulysses"]["makespan_low_ns"] < s["ulysses"]["makespan_ns"] < s["ulysses"]["makespan_high_ns"]'

# All-to-alls of two GPUs share no bridge with others; hops of a ring may.
expect_exit 0 "${simulate[@]}" --set cluster.preset=l20x8 --set cluster.ranks=2 --json
expect_json 's["ulysses"]["makespan_low_ns"] is None' 's["ring"]["makespan_low_ns"] < s["ring"]["makespan_high_ns"]'

# A stored run keeps the range.
expect_exit 0 "${simulate[@]}" --set cluster.preset=4090x8 --set cluster.ranks=8 -o range.db
expect_sql range.db 8 "SELECT count(*) FROM run WHERE makespan_low_ns < makespan_high_ns"

# A file of one's own may say what its host has.
expect_exit 0 list clusters --toml l20x8
sed 's/^of_8_gbps = .*/of_8_gbps = { value = 20.0, low = 30.0, high = 40.0, source = "here" }/' "$out" >mine.toml
expect_refused 'network.all_to_all.of_8_gbps' '20 is outside its own range of 30 to 40' -- plan --set cluster.profile=mine.toml

part notes
# A run says on standard error, before it starts, that ranks crowd the cores; simulate and JSON lines say nothing.
crowd=(--set "model.grid=4,16,64" --set model.heads=2 --set model.head_dim=8 --set run.repeats=1 --set run.warmup=0
  --set run.verify=off --set cluster.ranks=$(($(nproc) * 8 + 8)) -s ring)
[ "$(nproc)" -le 8 ] || skip "this machine has many cores"
expect_exit 0 run "${crowd[@]}"
expect_err "$(($(nproc) * 8 + 8)) ranks share $(nproc) core" 'run.mode = project'
expect_exit 0 run "${crowd[@]}" --set run.mode=simulate
expect_not_err 'ranks share'
expect_exit 0 run "${crowd[@]}" --progress=json
expect_not_err 'ranks share'
