#!/usr/bin/env bash
# A strategy that is asked for several times with other parameters gets an id of its own each time.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "${small[@]}" -s usp:ulysses=1,ring=4 -s usp:ulysses=2,ring=2 -s ring -s usp:ulysses=4,ring=1 --json
expect_json 'list(s) == ["usp", "usp-2", "ring", "usp-3"]' \
  's["usp"]["resolved"]["ring"] == 4 and s["usp-2"]["resolved"]["ring"] == 2' \
  's["usp-2"]["parameters"]["ulysses"] == 2'
# One that is asked for twice runs and is shown once.
expect_exit 0 run "${small[@]}" -s ring -s ring -s ring:order=contiguous -s ring:order=cyclic --json
expect_json 'list(s) == ["ring", "ring-2"]' 's["ring-2"]["parameters"]["order"] == "cyclic"'
