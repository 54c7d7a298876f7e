#!/usr/bin/env bash
# gpu-check without a GPU, and all of it on the emulated driver with tiny sizes, with stubs of PyTorch and of
# compute-sanitizer: parts, results, resuming, failures. Figures of the emulated driver are never compared with limits.
set -euo pipefail
: "${GPU_CHECK:?}" "${FAKE_CUDA:?}" "${SOURCE_DIR:?}" "${PYTHON:?}"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd -- "$work"
stubs=$SOURCE_DIR/tests/gpu_check/stubs
code=0

fail() {
  echo "FAILED: $*"
  cat out
  exit 1
}
# expect CODE ARGUMENT...: gpu-check ends with the code.
expect() {
  local expected=$1
  shift
  code=0
  "$GPU_CHECK" "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "gpu-check $* ended with $code"
}
# judge FOLDER CODE: Python with `machine`, and `checks` by name, of FOLDER/results.json.
judge() {
  "$PYTHON" - "$1" <<PYTHON || fail "$1/results.json"
import json, sys
results = json.load(open(sys.argv[1] + "/results.json"))
assert results["schema_version"] == 1
machine, checks = results["machine"], {check["name"]: check for check in results["checks"]}
statuses = {check["status"] for check in checks.values()}
$2
PYTHON
}

# Without a GPU: parts are every check once, each within its time, and all are skipped.
export CUDA_VISIBLE_DEVICES=
expect 0 --list
parts=$(sed -n 's/.*at least \([0-9]*\) parts.*/\1/p' out)
[ "$parts" -gt 1 ] || fail "the number of parts"
cp out list
for ((k = 1; k <= parts; ++k)); do
  expect 1 --part "$k/$parts" --out none
  awk 'NR == FNR { cost[$1] = $2; next } ($1 in cost) && $2 == "skipped" { sum += cost[$1]; print $1 >> "ran" }
       END { exit sum > 480 || sum == 0 }' list out || fail "what part $k costs"
done
[ "$(sort ran | uniq -d)" = '' ] || fail "a check is in two parts"
judge none 'assert statuses == {"skipped"} and machine["gpu"] == "" and machine["missing"]
assert all(check["reason"].startswith("not measured: no device") for check in checks.values())'
grep -q '^| pack | skipped | 0.0 | not measured: no device |$' none/results.md || fail "results.md"
expect 77 --check pack --out alone
grep -q 'not measured: no device' out || fail "--check without a device"
expect 2 --part "1/$((parts - 1))"
expect 2 --part 0/9
expect 2 --only nothing
expect 2 --fast

# On the emulated driver.
unset CUDA_VISIBLE_DEVICES
export LD_LIBRARY_PATH=$FAKE_CUDA SPSCOPE_FAKE_CUDA=memory=60000000 PATH=$stubs:$PATH
# Every check, but calibrating where spscope cannot calibrate a GPU.
only=() calibrates=--device
"${GPU_CHECK%/*}/spscope" calibrate --help | grep -q -e --device || calibrates=''
while read -r name cost _; do
  [[ $cost != [0-9]* || $name = [0-9]* || ($name = calibrate && -z $calibrates) ]] || only+=(--only "$name")
done <list
expect 0 --tiny --python "$stubs/python-with-torch" "${only[@]}" --out fake
judge fake 'assert machine["fake"] and machine["gpu"] == "spscope fake device"
assert {name for name, check in checks.items() if check["status"] != "passed"} <= {"processes", "calibrate"}, checks
assert checks["calibrate"]["status"] in ("passed", "not run")
figures = [figure for check in checks.values() for figure in check.get("figures", [])]
assert {figure["verdict"] for figure in figures if "limit" in figure} == {"not compared: fake device"}
limits = {(name, figure["limit"]) for name, check in checks.items() for figure in check.get("figures", []) if "limit" in figure}
for name in "attention-8k", "attention-16k", "attention-32k", "attention-64k":
    assert (name, "at least 0.95") in limits and checks[name]["facts"]["peer"] == "stub of PyTorch"
assert {(name, "at least 0.85") for name in ("sparse-64", "sparse-128", "pack")} <= limits
assert {("layer-error", "at most 2"), ("layer-project", "at most 0.05"), ("layer-project", "at most 0.02")} <= limits
error = {figure["name"]: figure["value"] for figure in checks["layer-error"]["figures"]}
assert abs(error["error over PyTorch'"'"'s"] - 1.5) < 1e-12 and 0 < error["largest error of a sampled row, squared"] < 5e-5
assert all(figure["value"] > 0 for figure in checks["sparse-64"]["figures"])'

# What has passed is not run again; what failed is.
SPSCOPE_FAKE_CUDA='fail=spscope_attend*:1' expect 1 --tiny --only measure --out fake
judge fake 'assert checks["measure"]["status"] == "failed" and "CUDA_ERROR" in checks["measure"]["reason"]'
STUB_ERRORS=1 expect 1 --tiny --only racecheck --out fake
judge fake 'assert "it found errors" in checks["racecheck"]["reason"]'
expect 0 --tiny --resume "${only[@]}" --out fake
[ "$(grep -cE '^[a-z0-9-]+ +(passed|skipped|failed)' out)" -le 3 ] || fail "--resume runs what has passed"
judge fake 'assert statuses <= {"passed", "skipped", "not run"}'

# Results of another driver are not mixed with these, and a missing PyTorch skips the comparison alone.
SPSCOPE_FAKE_CUDA=driver=13990 expect 2 --tiny --only pack --out fake
grep -q 'choose another --out' out || fail "results of another driver"
expect 0 --tiny --only attention-8k --only layer-error --python "$PYTHON" --out bare
judge bare 'for name in "attention-8k", "layer-error":
    assert checks[name]["status"] == "skipped" and "PyTorch" in checks[name]["reason"] and checks[name]["figures"]'
expect 0 --tiny --only attention-8k --python "$work/no-python" --out bare
judge bare 'assert "no-python" in checks["attention-8k"]["reason"]'
