#!/bin/sh
# tsan.sh BUILD [TEST...]: builds these C tests with ThreadSanitizer in BUILD, and runs them; without names, all but those in which calls
# fail, and those of fuzzing.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
[ $# -gt 0 ] || set -- $(cd autotest/unit && ls test_*.c | sed 's/[.]c$//; /^test_faults/d')
cmake -S . -B "$build" -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -g1" -DCMAKE_CXX_FLAGS="-O1 -g1" \
    -DSHARDEDZARR_SANITIZE=thread
cmake --build "$build" -j "$(nproc)" --target "$@"
# One test forks from threads on purpose, one asks for more memory than there is.
TSAN_OPTIONS="suppressions=$PWD/autotest/sanitizers/tsan.supp die_after_fork=0 allocator_may_return_null=1" \
    sh autotest/in_memory.sh ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -R "^($(echo "$*" | tr ' ' '|'))\$"
