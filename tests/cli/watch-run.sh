#!/usr/bin/env bash
# watch shows what each rank of a running collection does, changes nothing, and ends with the run.
# cost: 8
. "$(dirname -- "$0")/common.inc"

"$SPSCOPE" run -s ring -s ulysses "${small[@]}" --set cluster.ranks=3 --set run.layers=4 --set run.denoise_steps=5000 \
  --headless -o kept.db >result 2>progress &
pid=$!
wait_for_done 20 progress
# Its writer may come late to what its ranks have sent.
has_committed() { "$SPSCOPE" watch kept.db --once --json | grep -q 'events_committed": *[1-9]'; }
wait_for has_committed
expect_exit 0 watch kept.db --once --json
expect_json 'd["state"] == "running" and d["shards"] == 2 and [r["rank"] for r in d["ranks"]] == [0, 1, 2]' \
  'd["progress"]["phase"] in ("input", "reference", "plan", "run", "check") and 20 <= d["progress"]["done"] < d["progress"]["total"] == 40000' \
  'd["progress"]["strategies"] == 2 and d["progress"]["layers"] == 4 and d["progress"]["denoise_steps"] == 5000 and d["progress"]["eta_s"] > 0 and d["progress"]["elapsed_s"] > 0' \
  'd["events_per_s"] is None and d["exit_code"] is None and d["failure"] == ""' \
  '0 < d["events_committed"] and d["events_dropped"] == 0' \
  'all(r["pid"] == '"$pid"' and r["sent"] > 0 for r in d["ranks"])' \
  'any(r["name"] for r in d["ranks"]) or all(r["op"] is None for r in d["ranks"])'
expect_exit 0 watch kept.db.collecting --once
expect_out 'kept.db: running for ' ' left' ' of 4, denoise step ' ' of 40,000 plans done' 'rank    2'
expect_not_out '/s)'
folder=$(echo "$TMPDIR"/spscope-kept-*)
expect_exit 0 watch "$folder" --once

# A stopped process is named.
kill -STOP "$pid"
expect_exit 0 watch kept.db --once --json
expect_json 'len(d["findings"]) == 3 and all(f["fault"] and "kill -CONT" in f["message"] for f in d["findings"])'
# On a narrow terminal findings and counts are wrapped, not cut.
python3 -B "$scripts/on_terminal.py" 60 "$SPSCOPE" watch kept.db --once >"$out"
sed -i 1d "$out"  # the path of the output is not wrapped
expect_width 60
for rank in 0 1 2; do expect_out "! rank $rank is stopped"; done
tr -s ' \n' ' ' <"$out" >joined
mv joined "$out"
expect_out "kill -CONT $pid" 'none lost, 2 shards'
kill -CONT "$pid"

"$SPSCOPE" watch kept.db --json --every 0.1 >looks 2>"$err" &
watcher=$!
looked_often() { [ "$(wc -l <looks)" -gt 3 ]; }
wait_for looked_often
kill -TERM "$pid"
wait "$pid" || true
pid=$watcher
expect_end 1 "of watch, when that of the run is 1"
tail -n 1 looks >"$out"
expect_json 'd["state"] == "ended" and d["exit_code"] == 1 and d["failure"] == "the run was stopped by SIGTERM"'
sed -n 2p looks >"$out"
expect_json 'd["events_per_s"] >= 0'
expect_refused 'SPS-150' 'kept.db' -- watch kept.db
echo 'no store' >text.db
expect_refused 'SPS-151' 'text.db' -- watch text.db
expect_refused 'SPS-150' 'missing.db' -- watch missing.db

# With a run that ends well, watch does.
"$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=800 --headless -o well.db >result 2>progress &
pid=$!
wait_for_done 20 progress
expect_exit 0 watch well.db
expect_out 'well.db'
wait "$pid"

# Where the run could not say how it ended, watch does not say that it failed. STOP: while watch gets to know it.
"$SPSCOPE" run -s ring "${small[@]}" --set run.denoise_steps=10000 --headless -o unsaid.db >result 2>unsaid &
pid=$!
wait_for_done 20 unsaid
kill -STOP "$pid"
rm -- "$TMPDIR"/spscope-unsaid-*/*.progress
"$SPSCOPE" watch unsaid.db --every 0.1 >"$out" 2>"$err" &
watcher=$!
wait_for grep -q 'unsaid.db' "$out"
kill -TERM "$pid"
kill -CONT "$pid"
wait "$pid" || true
pid=$watcher
expect_end 0 "of watch, when the file is there"
expect_out 'unsaid.db exists'
