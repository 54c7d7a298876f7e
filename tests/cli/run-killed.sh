#!/usr/bin/env bash
# A second signal, or a kill, ends a run at once; what it had collected stays, is found, and is never removed.
. "$(dirname -- "$0")/common.inc"

start() {
  begin run -s ring "${small[@]}" --set cluster.ranks=3 --set run.denoise_steps=5000 --headless -o kept.db
  wait_for_done 20 "$err"
}

start
kill -KILL "$pid"
expect_end 137
folder=$(echo "$TMPDIR"/spscope-kept-*)
for file in kept.db.collecting "$folder"/{kept.head.db,kept.rank-0.db,kept.rank-0.now,collecting.json}; do
  [ -e "$file" ] || fail "$file is not there"
done
expect_exit 1 watch kept.db --json
expect_json 'd["state"] == "died" and len(d["ranks"]) == 3 and d["events"] > 0' \
  'd["findings"][0]["fault"] and "is gone" in d["findings"][0]["message"]'

# The next run to the same file goes on, and names what is left.
expect_exit 0 run -s ring "${small[@]}" -o kept.db
expect_err "$folder" 'spscope recover'
[ -e "$folder/kept.rank-0.db" ] || fail "the next run removed what was left"
expect_exit 0 doctor kept.db

# Who asks for the killed run by the path that it had gets the later one, and is told where the killed one is.
expect_exit 0 recover kept.db -o other.db
expect_err '"kept.db"' "spscope recover \"$folder\" -o FILE.db"

# A run to another file counts what is left and says where it is listed, until it was recovered.
expect_exit 0 run -s ring "${small[@]}" -o next.db
expect_err "1 other run that ended early left folders: spscope doctor \"$TMPDIR\""
expect_exit 0 doctor "$TMPDIR"
expect_out '! ended early' "\"$folder\" holds $(cat "$folder"/* | wc -c) bytes of the run to \"$PWD/kept.db\", which began at 20" \
  "spscope recover \"$folder\" -o FILE.db"
expect_not_out 'still uses'
exec 7<"$folder/kept.head.db"
expect_exit 0 doctor
expect_out '! ended early' "Process $$ still uses it."
exec 7<&-
expect_exit 0 recover "$folder" -o recovered.db
expect_exit 0 doctor "$TMPDIR" --json
expect_json '[(f["name"], f["ok"]) for f in d["findings"]] == [("recovered", True)]' \
  "'\"$PWD/recovered.db\" was made of it' in d['findings'][0]['value']"
expect_exit 0 run -s ring "${small[@]}" -o next.db --force
expect_not_err 'ended early'
rm -r "$folder" kept.db other.db next.db recovered.db
expect_exit 0 doctor "$TMPDIR"
expect_out 'folders of runs' "none in \"$TMPDIR\""

# Two signals: the first one may have ended it already.
start
kill -TERM "$pid"
kill -TERM "$pid" || true
code=0
wait "$pid" || code=$?
case $code in
1) expect_files kept.db ;;
143) [ -e kept.db.collecting ] || fail "nothing says where the collection is" ;;
*) fail "exit code $code after two signals" ;;
esac
