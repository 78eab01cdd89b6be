#!/bin/sh
# tsan.sh BUILD [CTEST-ARGUMENT...]: builds with ThreadSanitizer in BUILD, and runs the C tests that the arguments choose.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
cmake -S . -B "$build" -DSHARDEDZARR_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1 -DSHARDEDZARR_SANITIZE=thread
cmake --build "$build" -j "$(nproc)"
# One test forks from threads on purpose, one asks for more memory than there is.
TSAN_OPTIONS="suppressions=$PWD/autotest/sanitizers/tsan.supp die_after_fork=0 allocator_may_return_null=1" \
    ctest --test-dir "$build" --output-on-failure -j "$(nproc)" "$@"
