#!/usr/bin/env bash
# scripts/setup cuda puts what pip brings where the build looks for it, once, and leaves nothing when pip brings nothing.
# pip is a fake one, and the machine's own compilers are hidden, which takes a mount namespace.
#
#   setup-cuda.sh SOURCE_DIR
set -euo pipefail
if [ "${2:-}" != hidden ]; then
  unshare -m true 2>/dev/null || { echo "skipped: no mount namespaces"; exit 77; }
  exec unshare -m bash "$0" "$1" hidden
fi
[ ! -d /usr/local/cuda ] || mount -t tmpfs none "$(realpath /usr/local/cuda)"
unset CUDACXX
temporary=$(mktemp -d)
trap 'rm -rf -- "$temporary"' EXIT
mkdir -p "$temporary/scripts" "$temporary/tools"
cp "$1/scripts/setup" "$temporary/scripts"
for tool in bash dirname mkdir mktemp mv rm; do ln -s "$(command -v "$tool")" "$temporary/tools"; done

# fake_pip CODE [NVCC]: it ends with the code, after it has put a copy of NVCC into the folder of --target.
fake_pip() {
  cat >"$temporary/tools/python3" <<PIP
#!$(command -v bash)
while [ "\$1" != --target ]; do shift; done
[ -z "${2:-}" ] || { mkdir -p "\$2/nvidia/cu13/bin" && mv "${2:-}" "\$2/nvidia/cu13/bin/nvcc"; }
exit $1
PIP
  chmod +x "$temporary/tools/python3"
}

# expect CODE TEXT: how scripts/setup cuda ends and what it says.
expect() {
  local code=0 said
  said=$(PATH=$temporary/tools "$temporary/scripts/setup" cuda 2>&1) || code=$?
  [ "$code" -eq "$1" ] && [[ $said == *"$2"* ]] && return 0
  echo "FAILED: exit code $code instead of $1, or not \"$2\": $said"
  exit 1
}

fake_pip 1
expect 1 "no kernels for GPUs"
[ -z "$(ls "$temporary/build")" ] || { echo "FAILED: something is left"; exit 1; }
cp /bin/true "$temporary/nvcc"
fake_pip 0 "$temporary/nvcc"
expect 0 "is in build/cuda"
[ "$(ls "$temporary/build")" = cuda ] || { echo "FAILED: something is left"; exit 1; }
fake_pip 1
expect 0 "is there: $temporary/build/cuda/bin/nvcc"
