#!/usr/bin/env bash
# All that needs a GPU, in under 6 minutes, and one table last: build, the op specs, whole models
# beside the CPU, a short training run, times.
#
#   tests/gpu/run.sh [FOLDER]       # logs go to FOLDER; default: a new one in the temporary folder
#
# It has not been run on a GPU yet: none was at hand when it was written. Its steps run apart from
# it, on the emulation: `python -m tests.gpu.emulate -- python -m pytest -m cuda tests/gpu/device`.
# Needs: an NVIDIA driver and a GPU, nvcc 13, cmake and ninja, a C++20 compiler, and a Python with
# `pip install -e '.[test,cuda]'`'s dependencies (PYTHON names it; default python3). PyTorch, where
# that Python has it, is measured beside the engine. The build goes to build/gpu and stays there.
# Exit codes: 0 all passed, 1 something failed (the table says what), 2 this machine cannot.
# shellcheck disable=SC2329  # functions are steps, called by name
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3}
limit=345  # seconds of all steps together
logs=${1:-$(mktemp -d)}
mkdir -p "$logs"

refuse() {
  echo "tests/gpu/run.sh: $1" >&2
  exit 2
}

command -v nvidia-smi >/dev/null || refuse "no nvidia-smi, so no NVIDIA driver: this needs a GPU. \
Without one: python -m tests.gpu.emulate -- python -m pytest -m cuda tests/gpu/device"
gpu=$(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader | head -n 1) ||
  refuse "nvidia-smi finds no GPU that it can use: $gpu"
[ -n "$gpu" ] || refuse "nvidia-smi lists no GPU"
for tool in nvcc cmake ninja "$python"; do
  command -v "$tool" >/dev/null || refuse "$tool is missing"
done
capability=$(cut -d, -f2 <<<"$gpu" | tr -d ' .')

began=$SECONDS
names=() states=() times=() notes=()
failed=0

# step NAME SECONDS COMMAND...: runs it with a limit, its output in a log of its own; the last line
# that it prints is the note.
step() {
  local name=$1 seconds=$2 left start log status=0
  shift 2
  log="$logs/${name// /-}.log"
  left=$((limit - (SECONDS - began)))
  [ "$seconds" -le "$left" ] || seconds=$left
  start=$SECONDS
  if [ "$seconds" -le 5 ]; then
    echo "no time left" >"$log"
    status=124
  else
    printf '== %s\n' "$name" >&2
    timeout "$seconds" "$@" >"$log" 2>&1 || status=$?
  fi
  names+=("$name")
  times+=($((SECONDS - start)))
  notes+=("$(grep -v '^ *$' "$log" | tail -n 1 | cut -c 1-90)")
  case $status in
    0) states+=(ok) ;;
    124) states+=(late) failed=1 ;;
    *) states+=("FAILED") failed=1 ;;
  esac
  return "$status"
}

build() {
  local pybind
  pybind=$("$python" -m pybind11 --cmakedir)
  cmake -S engine -B build/gpu -G Ninja -DZOO_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=$capability" \
    "-Dpybind11_DIR=$pybind" "-DPython_EXECUTABLE=$(command -v "$python")"
  ninja -C build/gpu
  find build/gpu -maxdepth 1 -name '_C*.so' -exec cp {} engine/ \;
  find build/gpu -name '_cuda.so' -exec cp {} engine/ \;
  du -h engine/_cuda.so
}

findings() {
  "$python" -c "
from engine import cuda
rows = cuda.findings()
for row in rows:
    print(f'{row.name:14} {row.state:8} {row.detail}  {row.advice}')
assert cuda.is_available(), 'no GPU can be used'
wrong = [row.name for row in rows if row.state != 'found' and row.name != 'NCCL']
print(f'{len(rows)} findings; not found: {wrong or \"none\"}')
"
}

export -f build findings
export python capability logs PYTHONPATH=.

# Without a build there is nothing to run; every later step runs whatever became of the others.
if step "build" 200 bash -euo pipefail -c build; then
  # A missing library is an error here, not slower kernels.
  export ZOO_CUDA_REQUIRE_LIBRARIES=1
  step "findings" 20 bash -euo pipefail -c findings || true
  step "op specs" 100 "$python" -m pytest -q -m cuda tests/gpu/device \
    --ignore tests/gpu/device/test_models.py || true
  step "models beside the CPU" 30 "$python" -m pytest -q -m cuda tests/gpu/device/test_models.py ||
    true
  step "short training" 40 "$python" -m cli.main finetune resnet20 --data demo --device cuda \
    --out "$logs/run" --no-report || true
  step "times" 90 "$python" -m tests.gpu.bench --quick || true
fi

printf '\n%s, %s, %s s in all, logs in %s\n' "$gpu" "$(git rev-parse --short HEAD)" \
  "$((SECONDS - began))" "$logs"
[ ! -s "$logs/times.log" ] || cat "$logs/times.log"
printf '\n| step | result | s | last line |\n|---|---|---|---|\n'
for i in "${!names[@]}"; do
  printf '| %s | %s | %s | %s |\n' "${names[i]}" "${states[i]}" "${times[i]}" "${notes[i]}"
done
exit "$failed"
