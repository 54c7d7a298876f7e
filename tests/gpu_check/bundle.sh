#!/usr/bin/env bash
# The archive of scripts/bundle, made from this build: small, without paths of the build and without NVIDIA's libraries;
# what its programs need is in it or on every system; and they run from a folder with a space in its name.
set -euo pipefail
: "${BUILD_DIR:?}" "${SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'echo "FAILED: line $LINENO"' ERR

fail() {
  echo "FAILED: $*"
  exit 1
}

if [ "$(uname -m)" != x86_64 ] || ! command -v dpkg-query >/dev/null; then
  echo "skipped: the archive is made on Debian for x86_64"
  exit 77
fi
archive=$("$SOURCE_DIR/scripts/bundle" --build "$BUILD_DIR" --out "$work")
# It travels to a machine with a GPU together with the repository's files.
files=$(git -C "$SOURCE_DIR" ls-files -z | (cd -- "$SOURCE_DIR" && du -cb --files0-from=-) | tail -1 | cut -f1) || files=0
[ $(($(stat -c %s "$archive") + files)) -lt 60000000 ] || fail "the archive is too large"
mkdir -- "$work/a folder"
tar -C "$work/a folder" -xzf "$archive"
cd -- "$work/a folder"/spscope-*
top=$PWD

# Every program and library: where it looks, what it needs, and how new a system that takes.
system=' ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1 '
newer() { [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -1)" != "$1" ]; }
while read -r file; do
  while read -r place; do
    # shellcheck disable=SC2016
    [ "$place" = '$ORIGIN/../lib' ] || fail "$file looks in $place"
  done < <(readelf -d "$file" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\].*/\1/p')
  while read -r library; do
    [[ $system == *" $library "* || -e lib/$library || ($library == libmpi.so.* && $file == */gpu-processes) ]] ||
      fail "$file needs $library"
  done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
  for set in GLIBC_2.34 GLIBCXX_3.4.29; do
    needs=$(objdump -T "$file" | grep -oE "\(${set%%_*}_[0-9.]+\)" | tr -d '()' | sort -uV | tail -1 || true)
    ! newer "$set" "${needs:-$set}" || fail "$file needs $needs, which RHEL 9 does not have"
  done
done < <(find "$top/bin" "$top/lib" -type f)
[ -z "$(find lib -name 'libcuda*' -o -name 'libnv*')" ] || fail "a library of NVIDIA's"
[ "$(find lib -type f | wc -l)" -gt 5 ] || fail "libraries"
[ "$(find licences -type f | wc -l)" -gt 5 ] || fail "licences"
for program in spscope gpu-check; do
  while read -r library path; do
    [[ $path == "$top"/* || $system == *" $library "* ]] || fail "$program takes $path"
  done < <(env -i LD_TRACE_LOADED_OBJECTS=1 "bin/$program" | sed -n 's/ => \(.*\) (0x.*/ \1/p')
done

for file in lib/spscope/libspscope_inject.so share/gpu-check/{attention_peer,layer_error,torch_program,nccl_program}.py; do
  [ -s "$file" ] || fail "no $file"
done

# They run, from another folder and by the link.
bare() { env -i PATH=/usr/bin:/bin HOME="$work" CUDA_VISIBLE_DEVICES= "$@"; }
cd -- "$work"
bare "$top/bin/spscope" doctor >doctor.txt
grep -q 'off: the portable program does without' doctor.txt || fail "doctor says nothing of MPI"
echo 'model = {' >wrong.toml
! bare "$top/bin/spscope" plan wrong.toml 2>wrong.txt || fail "a config that is no TOML"
grep -q 'wrong.toml' wrong.txt || fail "a config that is no TOML is not named: $(cat wrong.txt)"
bare "$top/bin/spscope" run -s ring --set model.grid=3,6,7 --set model.heads=3 --set model.head_dim=8 --set mask.block=16 \
  --set run.layers=1 --set cluster.ranks=2 --set run.mode=execute -o run.db >run.txt
bare "$top/bin/spscope" report run.db >report.txt
grep -q '| ok ' report.txt || fail "the report of a run"
bare "$top/bin/spscope" plan "$top/samples/demo.toml" >plan.txt
bare "$top/gpu-check" --list >list.txt
code=0
bare "$top/gpu-check" --out "some results" >checked.txt || code=$?
[ "$code" -eq 1 ] || fail "gpu-check without a GPU ended with $code"
grep -q 'no GPU' "some results/results.md" || fail "results.md"
if [ -n "${FAKE_CUDA:-}" ]; then
  bare LD_LIBRARY_PATH="$FAKE_CUDA" "$top/gpu-check" --tiny --only doctor --only run --only pack --out fake >checked.txt ||
    fail "gpu-check on the emulated driver: $(cat checked.txt)"
  # attach has the program load the archive's library.
  bare PATH="$SOURCE_DIR/tests/gpu_check/stubs:/usr/bin:/bin" LD_LIBRARY_PATH="$FAKE_CUDA:$FAKE_CUPTI:$FAKE_NVML" \
    GPU_CHECK="$top/bin/gpu-check" "$top/gpu-check" --tiny --only attach-torch --only collect-cost --only collect-nvml \
    --python "$SOURCE_DIR/tests/gpu_check/stubs/python-with-torch" --out collected >checked.txt ||
    fail "collectors on the emulated driver: $(cat checked.txt)"
  [ "$(grep -c ' passed ' checked.txt)" -eq 3 ] || fail "collectors are not checked: $(cat checked.txt)"
fi
