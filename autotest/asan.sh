#!/bin/sh
# asan.sh BUILD [TARGET...]: builds everything (or these targets) with clang, AddressSanitizer and UndefinedBehaviorSanitizer in BUILD, warnings
# being errors. With SHARDEDZARR_FUZZ=ON for libFuzzer: what counts the paths that are taken makes tests two to three times as slow.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
sh autotest/install.sh clang libclang-rt-dev
# The sanitizers' library is shared, as with gcc: Python needs it so, and a program that hides its own symbols would hide those of this library.
linked="-shared-libasan -Wl,-rpath,$(clang -print-runtime-dir)"
# Lines in what ASan reports are all that -gline-tables-only is for.
cmake -S . -B "$build" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON -DSHARDEDZARR_FUZZ="${SHARDEDZARR_FUZZ:-OFF}" \
    -DSHARDEDZARR_SANITIZE=address,undefined -DCMAKE_EXE_LINKER_FLAGS="$linked" -DCMAKE_MODULE_LINKER_FLAGS="$linked" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -gline-tables-only" -DCMAKE_CXX_FLAGS="-O1 -gline-tables-only"
cmake --build "$build" -j "$(nproc)" --target "${@:-all}"
