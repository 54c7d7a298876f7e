#!/usr/bin/env bash
# Ranks that are processes: the disk becomes full after the first strategy was executed, and what was recorded is kept.
# labels: mpi extended
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
need_mpi

code=0
INJECT_FULL_WITH=$PWD/dump/layer-0/o-ring.npy LD_PRELOAD=$INJECT "$SPSCOPE" run -s ring -s ulysses "${small[@]}" \
  --set cluster.ranks=3 --launcher mpi --dump dump -o kept.db >"$out" 2>"$err" || code=$?
[ "$code" -eq 1 ] || fail "exit code $code"
expect_err 'SPS-154' 'the rest of the run with ' 'kept.db'
expect_exit 0 sql kept.db "SELECT count(*) > 0 AND sum(stored) = (SELECT count(*) FROM event) AND sum(stored) = sum(sent) FROM ledger" --csv
expect_out '1'
expect_no_ranks
expect_no_scratch
