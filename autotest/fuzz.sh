#!/bin/sh
# fuzz.sh BUILD [TARGET...]: builds the fuzz targets (or those named) with clang's libFuzzer, ASan and UBSan in BUILD, and runs each for
# FUZZ_SECONDS (60), as many at once as there are processors. An input that fails is kept as BUILD/TARGET-crash-*, inputs that raise coverage
# in BUILD/corpus/TARGET. These come into the corpus with BUILD/fuzz/fuzz_TARGET -merge=1 autotest/fuzz/corpus/TARGET BUILD/corpus/TARGET,
# which takes only what it lacks.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- chain shard journal codec icechunk open
sh autotest/install.sh clang libclang-rt-dev || exec sh autotest/skip.sh "fuzzing: no clang with libFuzzer"
SHARDEDZARR_FUZZ=ON sh autotest/asan.sh "$build" $(printf 'fuzz_%s ' "$@") >/dev/null
export ASAN_OPTIONS=allocator_may_return_null=1:verify_asan_link_order=0 LSAN_OPTIONS=suppressions=autotest/sanitizers/leaks.supp:print_suppressions=0
printf '%s\n' "$@" | xargs -P "$(nproc)" -I TARGET sh -c '
    build=$1 target=$2
    mkdir -p "$build/corpus/$target"
    "$build/fuzz/fuzz_$target" -max_total_time="${FUZZ_SECONDS:-60}" -print_final_stats=1 -artifact_prefix="$build/$target-" \
        "$build/corpus/$target" "autotest/fuzz/corpus/$target" >"$build/$target.log" 2>&1 || {
        tail -n 60 "$build/$target.log"
        echo "FAILED: fuzz_$target"
        exit 1
    }
    echo "fuzz_$target: $(sed -n "s/.*number_of_executed_units: *//p" "$build/$target.log") runs, $(sed -n "s/.*DONE *\(cov: [0-9]*\).*/\1/p" "$build/$target.log")"
' sh "$build" TARGET
