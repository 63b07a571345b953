#!/usr/bin/env bash
# Builds the engine with sanitizers and runs the tests of operations, autograd, threads, DLPack and
# the allocator under them.
#
#   tests/sanitize.sh asan [PYTEST ARGUMENTS...]   addresses and undefined behaviour (GCC or Clang)
#   tests/sanitize.sh tsan [PYTEST ARGUMENTS...]   data races
#   tests/sanitize.sh core [SECONDS]               both, of the allocator, the thread pool and
#                                                  reference counts alone: a minute with building
#
# It needs what `pip install -e '.[test]'` installs, cmake and ninja. The build stays in
# build/sanitize-KIND, so that the next run compiles only what changed; ZOO_SANITIZE_BUILD names
# another folder, PYTHON another interpreter, JOBS how many compilers run at once. The last line says
# whether anything was found; each report is printed, and stays in BUILD/reports.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
kind=${1:?expected asan, tsan or core}
shift
python=${PYTHON:-python3}
case $kind in
  asan) sanitizers=address,undefined ;;
  tsan) sanitizers=thread ;;
  core)
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    for sanitizers in address,undefined thread; do
      "${CXX:-c++}" -std=gnu++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=$sanitizers \
        -fno-sanitize-recover=all -I"$root/engine/csrc" -pthread -o "$build/stress" \
        "$root"/tests/engine/core_stress.cpp "$root"/engine/csrc/core/{allocator,segments,parallel}.cpp
      for allocator in pool system; do
        echo "core, $sanitizers, allocator: $allocator"
        if [ $sanitizers = thread ]; then run="setarch -R"; else run=; fi
        ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 \
          ZOO_ALLOCATOR=$allocator \
          $run "$build/stress" "${1:-2}"
      done
    done
    echo "sanitize.sh: core found nothing"
    exit 0
    ;;
  *) echo "expected asan, tsan or core, not $kind" >&2; exit 2 ;;
esac
build=${ZOO_SANITIZE_BUILD:-$root/build/sanitize-$kind}

mkdir -p "$build"
cmake -S "$root/engine" -B "$build" -G Ninja -DZOO_SANITIZE=$sanitizers \
  -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
  -DPython_EXECUTABLE="$(command -v "$python")"
ninja -C "$build" -j"${JOBS:-2}"

# A copy of the packages beside the sanitized module: the tests import what lies around them.
site=$build/site
rm -rf "$site" "$build/reports"
mkdir -p "$site" "$build/reports"
tar -C "$root" --exclude='*.so' --exclude=__pycache__ -cf - \
  engine zoo hub cli tests model_cards pyproject.toml | tar -C "$site" -xf -
cp "$build"/_C*.so "$site/engine/"

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
runtime=$("$compiler" -print-file-name=lib$kind.so)
export LD_PRELOAD="$runtime $("$compiler" -print-file-name=libstdc++.so.6)"
export PYTHONPATH=$site ZOO_NUM_THREADS=${ZOO_NUM_THREADS:-3}
# Python keeps memory to its end and its own objects are not instrumented: leaks are not looked for.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$build/reports/asan
export UBSAN_OPTIONS=print_stacktrace=1:log_path=$build/reports/ubsan
export TSAN_OPTIONS=allocator_may_return_null=1:history_size=4:die_after_fork=0:log_path=$build/reports/tsan
export OPENBLAS_NUM_THREADS=1  # numpy's own threads are not instrumented
cd "$site"
run() { # with the rules for addresses switched off: the kernel may place things where TSan cannot
  if [ "$kind" = tsan ]; then setarch -R "$@"; else "$@"; fi
}
tests() {
  run "$python" -m pytest -q -p no:cacheprovider -W default "$@" || failed=1
}
failed=0
if [ $# -gt 0 ]; then
  ZOO_ALLOCATOR=${ZOO_ALLOCATOR:-system} tests "$@"
else
  # Every tensor from the system's allocator, so that each end of each block is watched; what tests
  # the pool itself, and what counts its blocks, with the pool. Sanitizers keep freed memory aside, so
  # there is no test of growth.
  ZOO_ALLOCATOR=system tests tests/engine/test_ops.py tests/engine/test_autograd.py \
    tests/engine/test_double_backward.py tests/engine/test_dlpack.py tests/engine/test_properties.py \
    tests/engine/test_tensor.py tests/engine/test_indexing_random.py tests/engine/test_hooks.py \
    tests/engine/test_function.py tests/engine/test_inplace_views.py tests/engine/test_conv.py \
    tests/engine/test_norm.py tests/engine/test_pooling.py tests/engine/test_attention.py \
    tests/engine/test_embedding.py tests/engine/test_softmax.py tests/engine/test_quantized.py \
    tests/engine/test_image.py tests/engine/test_random.py tests/engine/test_optim_step.py
  tests tests/engine/test_system.py tests/engine/test_autograd_processes.py \
    -k 'not lock and not every_instruction_set and not grow_by_less'
fi
# Tests ask for more memory than there is, and the refusal is an error that they want.
if cat "$build"/reports/* 2> /dev/null | grep -v 'failed to allocate 0x'; then
  echo "sanitize.sh: $kind reported faults, see above" >&2
  exit 1
fi
[ $failed = 0 ] || { echo "sanitize.sh: no reports, but tests failed" >&2; exit 1; }
echo "sanitize.sh: $kind found nothing"
