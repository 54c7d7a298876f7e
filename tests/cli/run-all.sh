#!/usr/bin/env bash
# `all` stands for every strategy at its best setting: refused ones fold into one line, and a winner is named only when
# everything that was asked for by name could run.
. "$(dirname -- "$0")/common.inc"

h100=(--set run.mode=simulate --set cluster.preset=h100x8 --set model.heads=8 --set model.head_dim=24)
expect_exit 0 run "${h100[@]}"
expect_out 'Each strategy is shown at the best of its settings' 'Not possible here: dsp (' 'By the model, '
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
