#!/usr/bin/env bash
# A file of a program that was observed opens wherever files of strategies do: it is told what it is, or why there is
# nothing to compare, and what to do.
. "$(dirname -- "$0")/common.inc"

# As spscope attach leaves one: events and a repeat, and neither plan nor mask nor figures of ranks.
expect_exit 0 run "${small[@]}" -s single --set cluster.ranks=1 -o seen.db
edit seen.db "UPDATE strategy SET mode = 3, id = 'observed', name = 'observed'" \
  "UPDATE workload SET config_toml = 'python3 train.py', scope = 'observed', tokens = 0, heads = 0" \
  "UPDATE run SET plan_id = NULL, density = 0.0, tiles = 0.0" "DELETE FROM plan" \
  "DELETE FROM plan_op" "DELETE FROM rank_usage" "DELETE FROM traffic" "DELETE FROM mask_place" \
  "DELETE FROM mask_thumbnail" "DELETE FROM mask" "UPDATE repeat SET has_timeline = 0" "DELETE FROM strategy_group"

expect_exit 0 report seen.db
expect_out 'An observed program' 'python3 train.py' 'observed, all times measured; 1 rank' 'rank lane' 'attend'
expect_exit 0 report seen.db -o seen.html
grep -q 'python3 train.py' seen.html || fail "the page does not name the program"
expect_exit 2 report seen.db --format json
expect_err 'observed, python3 train.py: it has no strategies to list as json' 'spscope sql'
expect_exit 2 compare seen.db
expect_err 'observed, python3 train.py: it has no strategies to compare' 'spscope report "seen.db"'
expect_exit 0 explain seen.db
expect_out 'python3 train.py' 'Who waits for whom is not known: no operation of NCCL was recorded.'
expect_exit 2 explain seen.db --layer 0 --all --json
expect_err '--all and --layer choose among strategies and their layer passes, and "seen.db" has none' 'python3 train.py' 'leave --all and --layer out'
expect_exit 0 explain seen.db --json
expect_json 'd["programs"][0]["command"] == "python3 train.py"' 'd["programs"][0]["arrival_skew"] is None' \
  'd["programs"][0]["text"] == "Who waits for whom is not known: no operation of NCCL was recorded."'
expect_exit 2 mask info seen.db
expect_err 'it has no strategies to show masks of'
expect_exit 0 doctor seen.db
expect_sql seen.db 1,measured "SELECT makespan_ns > 0, compute FROM strategy_summary"
expect_sql seen.db 1 "SELECT sum(count) > 0 FROM event_stats"
expect_exit 0 export seen.db --format chrome -o seen.json
expect_exit 0 export seen.db --format plain-sqlite -o plain.db

# With what collectors see, too: two ranks with a GPU each, each with NCCL's operations and counters.
expect_exit 0 run "${small[@]}" -s ring --set cluster.ranks=2 -o made.db
"$python" -B "$SOURCE_DIR/tests/gui/observed_file.py" made.db
expect_exit 0 recover made.db -o collected.db
expect_exit 0 report collected.db
expect_out '| rank 1 | NCCL | transfer | 840 |' '| AllReduce RING SIMPLE | 240 | 2.01 GB | 84.0 ms | 14.4 ms | 69.6 ms | 350 us |' \
  '| Send | 720 |' '| GPU 1 SM clock | 1,630 MHz |' '| 1,980 MHz |' '- GPU 1: at 0000:3C:00.0' ' from its first to its last event'
expect_not_out 'foreign'
expect_exit 0 explain collected.db
expect_out "The other rank waits for rank 1 in NCCL's collectives, 4.0 % of the time: it came last to 120 of 120." \
  'so something else makes it late, such as copies or its host.'
expect_exit 0 explain collected.db --json
cp -- "$out" explained.json
expect_json 'd["programs"][0]["text"].startswith("The other rank waits for rank 1")' \
  '(lambda w: (w["collectives"], w["ranks"], w["last_ranks"][0]["rank"], w["last_ranks"][0]["last_in"]) == (120, 2, 1, 120) and
    abs(w["share_of_time"] - w["wait_ns"] / w["watched_ns"]) < 1e-12 and round(100 * w["share_of_time"], 1) == 4)(d["programs"][0]["arrival_skew"])'
python3 - explained.json "$SOURCE_DIR/schemas/observation.schema.json" <<'END' || fail "not as the schema says"
import json, sys
try: import jsonschema
except ImportError: sys.exit(0)
jsonschema.Draft202012Validator(json.load(open(sys.argv[2]))).validate(json.load(open(sys.argv[1])))
END
