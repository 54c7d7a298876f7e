#!/usr/bin/env bash
# Two network namespaces that a cable joins stand for two hosts: ranks on both give what thread ranks give.
# labels: mpi
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"
need_mpi
command -v ip >/dev/null || skip "ip (iproute2) is not there"
one=spscope-$$-1 two=spscope-$$-2
ip netns add "$one" 2>/dev/null || skip "no network namespaces here"
clean_up() {
  ip netns delete "$one" 2>/dev/null || true
  ip netns delete "$two" 2>/dev/null || true
  rm -rf -- "$temporary"
}
trap clean_up EXIT
ip netns add "$two"
ip link add "sp$$a" netns "$one" type veth peer name "sp$$b" netns "$two"
ip -n "$one" address add 10.255.77.1/24 dev "sp$$a"
ip -n "$two" address add 10.255.77.2/24 dev "sp$$b"
for name in "$one" "$two"; do ip -n "$name" link set lo up; done
ip -n "$one" link set "sp$$a" up
ip -n "$two" link set "sp$$b" up

# What mpirun calls in place of ssh: agent HOST COMMAND... The second host has a name and shared memory of its own.
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $two unshare --uts --mount sh -c \
  'hostname $two && mount -t tmpfs tmpfs /dev/shm && exec sh -c "\$0"' "\$*"
END
chmod +x agent
unshare --uts --mount true 2>/dev/null || skip "no namespaces for a name and for mounts here"

on_two_hosts() {
  local ranks=$1
  shift
  code=0
  ip netns exec "$one" mpirun --quiet --oversubscribe --bind-to none --mca plm_rsh_agent "$PWD/agent" \
    --mca btl tcp,self,vader --mca btl_tcp_if_include 10.255.77.0/24 --mca oob_tcp_if_include 10.255.77.0/24 \
    --host "10.255.77.1:$((ranks / 2)),10.255.77.2:$((ranks / 2))" -n "$ranks" "$@" >"$out" 2>"$err" || code=$?
}

on_two_hosts 4 "$CONFORMANCE" --every 80
[ "$code" -eq 0 ] || fail "conformance on two hosts"
expect_out 'plans on 4 processes and 2 nodes: 0 differ'
on_two_hosts 4 "$SPSCOPE" run -s ring "${small[@]}" --set cluster.ranks=4 --json
[ "$code" -eq 0 ] || fail "a run on two hosts"
expect_json 's["ring"]["verify"] == "passed" and s["ring"]["backend"] == "mpi"'
expect_no_ranks
