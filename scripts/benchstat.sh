#!/usr/bin/env bash
# Compares the benchmarks of every hot path at two commits, the parent and HEAD by
# default: benchstat.sh [OLD [NEW]]. The test binaries of both are built first and
# run in turn, the order reversed every other time, so that what else the machine
# does falls on both. The table goes between the marks of docs/performance.md, or
# of the file that BENCHDOC names; where that is empty, only to the output.
#
#   BENCHCOUNT  runs of each side, 6 by default: fewer show no difference at all
#   BENCHTIME   of each benchmark in each run, 100ms by default
#   BENCHONLY   a pattern of benchmarks instead of all below
set -euo pipefail
cd "$(dirname "$0")/.."

old=$(git rev-parse --short "${1:-HEAD~1}^{commit}")
new=$(git rev-parse --short "${2:-HEAD}^{commit}")
count=${BENCHCOUNT:-6} time=${BENCHTIME:-100ms} doc=${BENCHDOC-docs/performance.md}
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# Package and pattern of each hot path.
paths=(
  "compression/chat ^Benchmark(Envelope|Parse|Canonical|Splice|Seen)\$"
  "compression/tokens ^Benchmark(Count|CountShort|Bounds)\$"
  "compression ^Benchmark(Look|View2MB|Deterministic1MB|Recall1MB|RecallNewQuestion|GateBytes)\$"
  "compression/internal/tag ^BenchmarkTag\$"
  "compression/sse ^BenchmarkParser\$"
  "compression/redact ^BenchmarkClean\$"
  "compression/refusal ^Benchmark(ReadUsage|InStream)\$"
  "compression/window ^BenchmarkLookup\$"
  "middleware ^Benchmark(Request|Proxy|Holder|ReadBody)\$"
  "ownership/memstore ^Benchmark(Fold|ReadKnown)\$"
  "redisstore ^Benchmark(ClaimCommit|Read|BreakerOpen)\$"
)

work=$(mktemp -d)
cleanup() {
  for side in old new; do
    git worktree remove --force "$work/$side" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap cleanup EXIT

# build makes the test binaries of a commit.
build() {
  git worktree add --quiet --detach "$work/$1" "$2"
  for path in "${paths[@]}"; do
    local package=${path%% *}
    [ -d "$work/$1/$package" ] || continue
    (cd "$work/$1" && go test -c -o "$work/$1.bin/${package//\//_}" "./$package")
  done
}

# run is one run of one side.
run() {
  for path in "${paths[@]}"; do
    local package=${path%% *} pattern=${BENCHONLY:-${path#* }}
    local binary=$work/$1.bin/${package//\//_}
    [ -x "$binary" ] || continue
    (cd "$work/$1/$package" && "$binary" -test.run '^$' -test.bench "$pattern" -test.benchmem -test.benchtime "$time") >"$work/out" ||
      { cat "$work/out" >&2; exit 1; }
    # An older commit may have none of these.
    grep -E '^(goos|goarch|pkg|cpu|Benchmark)' "$work/out" >>"$work/$1.txt" || true
  done
}

mkdir "$work/old.bin" "$work/new.bin"
build old "$old"
build new "$new"
for ((i = 1; i <= count; i++)); do
  echo "benchstat: run $i of $count" >&2
  if ((i % 2)); then run old; run new; else run new; run old; fi
done

{
  echo "$(date -u +%Y-%m-%d), $(go version | cut -d' ' -f3-), $(getconf _NPROCESSORS_ONLN) cores, $(sed -n 's/^cpu: //p' "$work/new.txt" | head -n 1)."
  echo "Commits \`$old\` and \`$new\`, $count runs of each side in turn, $time a benchmark:"
  echo "\`BENCHCOUNT=$count BENCHTIME=$time scripts/benchstat.sh $old $new\`"
  echo
  echo '```text'
  (cd "$work" && go run "$benchstat" old=old.txt new=new.txt) | sed 's/[[:space:]]*$//'
  echo '```'
} >"$work/table"
cat "$work/table"

[ -n "$doc" ] || exit 0
awk -v table="$work/table" '
  /<!-- benchstat: begin -->/ { print; while ((getline line < table) > 0) print line; skip = 1; found = 1; next }
  /<!-- benchstat: end -->/ { skip = 0 }
  !skip
  END { exit !found }' "$doc" >"$work/doc" || { echo "benchstat: no marks in $doc" >&2; exit 1; }
cat "$work/doc" >"$doc"
