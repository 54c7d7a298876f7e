#!/usr/bin/env bash
# Ranks on two hosts give what thread ranks give, and the kept file has the events of all of them on one clock.
# labels: mpi wide
# cost: 20
. "$(dirname -- "$0")/common.inc"
. "$scripts/two-hosts.inc"

on_two_hosts 2 2 "$CONFORMANCE" --plans 30
expect_out 'plans on 4 processes and 2 nodes: 0 differ'

on_two_hosts 1 1 "$CONFORMANCE" --files
expect_out '6 files from rank 1: 0 differ'

job=("${small[@]}" -s ulysses -s ring --set "cluster.profile=$samples/cluster-a800-2node.toml" --set cluster.ranks=4 --set cluster.nodes=2
  --set cluster.gpus_per_node=2 --set run.layers=2 --set run.repeats=3)
results() { figures 'x["verify"], x["max_error"], x["bytes_sent"], x["bytes_sent_intra_node"], x["bytes_sent_inter_node"], x["bytes_received"]'; }
expect_exit 0 run "${job[@]}" --json
threads=$(results)
on_two_hosts 2 2 "$SPSCOPE" run "${job[@]}" --json
expect_json 's["ring"]["verify"] == "passed" and s["ring"]["backend"] == "mpi"'
[ "$(results)" = "$threads" ] || fail "processes give $(results), threads $threads"
expect_no_files
expect_hosts_clean

on_two_hosts 2 2 "$SPSCOPE" run "${job[@]}" -o kept.db
expect_files kept.db
expect_hosts_clean
expect_exit 0 sql kept.db 'SELECT rank, host, node FROM rank_process ORDER BY rank' --csv
expect_out "0,$one,0" "1,$one,0" "2,$two,1" "3,$two,1"
expect_sql kept.db 2 'SELECT count(DISTINCT boot_id) AS boots FROM rank_process'

# Every op of every repeat of every rank is there, and the ledger says the same.
expect_exit 0 sql kept.db 'SELECT rank, count(*) AS events FROM event GROUP BY rank ORDER BY rank' --csv
cp "$out" events
expect_exit 0 sql kept.db 'SELECT o.rank, 3 * count(*) AS events FROM run r JOIN plan_op o ON o.plan_id = r.plan_id GROUP BY o.rank ORDER BY o.rank' --csv
cmp events "$out" || fail "events of the ranks: $(cat events)"
rm events
expect_sql kept.db 8,0 'SELECT count(*) AS streams, sum(sent != stored) AS incomplete FROM ledger'
expect_exit 0 doctor kept.db
expect_out 'of 2 hosts agree on the time within'
expect_not_out '!'

# The second host's clock is ahead by clock_ahead_s, which the fit finds to within the bound that it states.
expect_exit 0 sql kept.db 'SELECT rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges FROM clock_fit ORDER BY rank' --csv
python3 -B "$scripts/check_clocks.py" "$out" "$clock_ahead_s" || fail "the clocks of the ranks"
expect_sql kept.db 1,2 'SELECT count(DISTINCT rank) AS ranks, min(rank) AS lowest FROM clock_exchange'
expect_sql kept.db 1,1 'SELECT min(begin_ns) >= 0 AS after, max(end_ns) < 100000000000 AS soon FROM event'
rm kept.db

[ -n "${WIDE:-}" ] || exit 0

# The same when spscope starts mpirun itself, which is told of the hosts as a site would.
lines "$temporary/hosts" "10.255.77.1 slots=2" "10.255.77.2 slots=2"
by_hosts=(on_one env "OMPI_MCA_orte_default_hostfile=$temporary/hosts" "OMPI_MCA_plm_rsh_agent=$temporary/agent"
  "OMPI_MCA_btl=tcp,self,vader" OMPI_MCA_btl_tcp_if_include=10.255.77.0/24 OMPI_MCA_oob_tcp_if_include=10.255.77.0/24)
expect_code 0 "${by_hosts[@]}" "$SPSCOPE" run "${job[@]}" --launcher mpi -o kept.db
expect_files kept.db
expect_hosts_clean
expect_sql kept.db 2,4 'SELECT count(DISTINCT host) AS hosts, count(DISTINCT e.rank) AS ranks FROM rank_process p JOIN event e ON e.rank = p.rank'
rm kept.db

# A rank on the second host is killed: the launcher sees none of its processes, and says what mpirun tells and where they
# were.
: >"$err"
"${by_hosts[@]}" "$SPSCOPE" run "${job[@]}" --set run.denoise_steps=300 --headless --launcher mpi -o kept.db >"$out" 2>"$err" </dev/null &
pid=$!
wait_for_done 9 "$err"
part=$(folders_on on_two)
kill -KILL "$(on_two "$SPSCOPE" watch "$part" --once --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranks"][-1]["pid"])')"
expect_end 1 "after a rank on the second host was killed"
expect_err 'signal 9 (Killed)' "those of ranks 2 and 3 in \"$part\" on host $two"
