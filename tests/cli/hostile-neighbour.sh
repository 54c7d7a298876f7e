#!/usr/bin/env bash
# Another user of the machine has put pipes, links, folders and files wherever this one works: no command waits for them,
# follows them, takes them for its own, or changes them.
# labels: hostile
# shellcheck disable=SC2016  # of the shell inside
. "$(dirname -- "$0")/common.inc"
[ "$(id -u)" -eq 0 ] || skip "only root can act as two users"
command -v setpriv >/dev/null || skip "setpriv (util-linux) is not there"

# A folder as /tmp, and one of the victim, who runs a copy of the program: the build may lie where others cannot go.
chmod 711 "$temporary"
shared=$temporary/shared home=$temporary/home program=$temporary/spscope
mkdir -m 1777 "$shared"
mkdir -m 700 "$home"
chown 1001:1001 "$home"
install -m 755 "$SPSCOPE" "$program"
as() { setpriv --reuid "$1" --regid "$1" --clear-groups -- env HOME="$home" TMPDIR="$shared" "${@:2}"; }
hostile() { as 65534 "$@" && find . -user 65534 >>"$temporary/theirs"; }
cd "$shared" || exit

# victim CODES ARGUMENT...: one of these exit codes, soon.
victim() {
  local wanted=$1
  shift
  code=0
  as 1001 timeout 30 "$program" "$@" >"$out" 2>"$err" </dev/null || code=$?
  [ "$code" -ne 124 ] || fail "still there after 30 s: $*"
  [[ " $wanted " == *" $code "* ]] || fail "exit code $code, not $wanted: $*"
  ! grep -qE 'Sanitizer|runtime error:|SPS-200' "$err" || fail "a fault in: $*"
}
job=("${small[@]}" -s ring --set cluster.ranks=2)

victim 0 run "${job[@]}" -o "$home/precious.db"
victim 0 run "${job[@]}" -o mine.db
before=$(sha256sum "$home/precious.db" mine.db)

# -- in the scratch folder
hostile sh -e -c '
  mkdir spscope-pipe-aaaaaa spscope-note-bbbbbb && mkfifo spscope-pipe-aaaaaa/collecting.json
  ln -s "$HOME" spscope-link-cccccc && mkfifo spscope-dddddd
  cat >spscope-note-bbbbbb/collecting.json <<NOTE
{"schema_version": 1, "collection": "0123456789abcdef0123456789abcdef", "folder": "$PWD/spscope-note-bbbbbb", "stem": "lure",
 "out": "$HOME/precious.db", "host": "h", "pid": 1, "start_ticks": 1, "boot_id": "b", "started_utc": "t", "ranks": 1, "home_host": ""}
NOTE
  sed "s|$PWD/spscope-note-bbbbbb|$HOME|" spscope-note-bbbbbb/collecting.json >absent.db.collecting
  sed "s|$PWD/spscope-note-bbbbbb|$HOME|" spscope-note-bbbbbb/collecting.json >collecting.json
  chmod a+r *.json *.collecting'
victim 0 run "${job[@]}"
expect_not_err 'lure'
victim 0 run "${job[@]}" -o again.db
victim 0 doctor
expect_not_out 'lure'
expect_not_out 'precious'
victim 0 doctor "$shared"
expect_out 'none in'

# -- beside the output
hostile sh -e -c ': >theirs.db.tmp && chmod 666 theirs.db.tmp && mkfifo noted.db.collecting'
victim 2 run "${job[@]}" -o theirs.db --force
expect_err 'theirs.db.tmp' 'SPS-15'
[ ! -s theirs.db.tmp ] || fail "a file of the hostile user was written to"
victim 2 run "${job[@]}" -o noted.db  # the note cannot be put there
expect_err 'noted.db.collecting'

# What the victim did not name is not taken for the victim's: a note beside OUT, and one in the same folder.
victim 2 watch absent.db --once
expect_not_err "$home"
victim 2 recover absent.db -o recovered.db
expect_not_err "$home"
victim 0 recover mine.db -o recovered.db
expect_not_out "$home"

# Side files of SQLite: of a finished file, and of one that says that it has a log.
cp -p mine.db logged.db
printf '\2\2' | dd of=logged.db bs=1 seek=18 conv=notrunc status=none
hostile sh -e -c 'for file in mine logged; do mkfifo -m 444 $file.db-wal $file.db-journal $file.db-shm; done
  mkfifo mine.db.collecting logged.db.collecting'
for command in compare report doctor; do
  victim 0 "$command" mine.db
  victim 2 "$command" logged.db
done
victim 0 sql mine.db 'SELECT count(*) FROM event'
victim '0 1 2' recover logged.db -o of-log.db
victim 0 recover mine.db -o of-mine.db

# -- outputs of other commands
hostile sh -e -c '
  mkdir -m 777 dump && ln -s "$HOME" dump/layer-0
  mkdir -m 777 traps
  for name in out.json out.html out.npy out.toml out.db plain; do mkfifo -m 666 $name; done'
victim 2 run "${job[@]}" --dump dump
expect_err 'dump/layer-0'
[ "$(ls "$home")" = precious.db ] || fail "written through a link: $(ls "$home")"
for force in '' --force; do
  victim 2 export mine.db --format chrome -o out.json ${force:+"$force"}
  victim 2 export mine.db --format plain-sqlite -o plain ${force:+"$force"}
  victim 2 report mine.db -o out.html ${force:+"$force"}
  victim 2 mask generate window -o out.npy ${force:+"$force"}
  victim 2 calibrate --seconds 1 -o out.toml ${force:+"$force"}
done

# -- arguments
for path in out.db absent.db.collecting traps; do
  victim 2 compare "$path"
  victim 2 report "$path"
  victim 2 sql "$path" 'SELECT 1'
  victim 2 export "$path" --format chrome -o new.json
  victim 2 recover "$path" -o new.db
done
victim '0 2' doctor out.db
victim 2 watch out.db --once
victim 2 watch noted.db --once

[ "$(sha256sum "$home/precious.db" mine.db)" = "$before" ] || fail "a file of the victim was changed"
left=$(find . -maxdepth 1 -user 1001 -name 'spscope-*')
[ -z "$left" ] || fail "left in the scratch folder: $left"
while read -r path; do
  [ -e "$path" ] || [ -L "$path" ] || fail "a thing of the hostile user is gone: $path"
done <"$temporary/theirs"
