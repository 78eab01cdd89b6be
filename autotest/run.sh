#!/bin/sh
# The tests, on a Debian 12 with nothing but sh and apt-get, as root:
#   sh autotest/run.sh        builds, and runs the tests with the GDAL of this Debian: some ten minutes on two cores
#   sh autotest/run.sh all    everything: also with sanitizers and fuzzing, on i386, and with the GDALs of Debian 13 and sid; an hour and
#                             some 12 GB.
#                             CI=true means the same.
#   sh autotest/run.sh NAME   one test: of a file in autotest/unit (test_codec), else what pytest finds by that name (-k)
# The second time takes less, since what was built and installed under build*/ is kept.
# What cannot be had (a library from PyPI, another Debian) is SKIPPED; with CI=true that is a failure.
set -eu
cd "$(dirname "$0")/.."
wanted=${1:-suite}
[ "${CI:-}" != true ] || wanted=all
PATH=/usr/sbin:/usr/bin:/sbin:/bin # Debian's own Python, CMake and GDAL, whatever else is installed
HOME=${HOME:-/root}
LC_ALL=C.UTF-8
export PATH HOME LC_ALL
unset CC CXX CFLAGS CXXFLAGS LDFLAGS
exec </dev/null

passed=0
step() { # WHAT COMMAND...
    what=$1
    shift
    printf '\n=== %s\n' "$what"
    start=$(date +%s)
    "$@" || {
        printf '\nFAILED: %s\nsteps: %d passed, 1 failed\n' "$what" "$passed"
        exit 1
    }
    passed=$((passed + 1))
    echo "--- $what: $(($(date +%s) - start)) s; $(df -Ph . | awk 'NR == 2 { print $4 }') free"
}
# CI begins with nothing each time, on a disk that may be small: there what no later step needs goes.
forget() { # DIRECTORY...
    [ "${CI:-}" != true ] || rm -rf "$@"
}
build() { # BUILD CMAKE-OPTION...: a further build, warnings being errors
    dir=$1
    shift
    cmake -S . -B "$dir" -DBUILD_TESTING=ON -DSHARDEDZARR_WERROR=ON "$@" && cmake --build "$dir" -j "$(nproc)"
}
asan_tests() {
    build build-asan -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1 -DSHARDEDZARR_SANITIZE=address,undefined &&
        FAULTS_STEP=13 ctest --test-dir build-asan --output-on-failure -j "$(nproc)" &&
        # Python is not built with ASan, which must then be loaded first (and libstdc++, whose exceptions ASan watches), and never
        # frees all that it has.
        LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 sh autotest/pytest.sh build-asan build/peers
}
clang_build() {
    # not optimized: its warnings do not come from there
    sh autotest/install.sh clang && build build-clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
}
bare_build() {
    cmake -S . -B build-bare -DSHARDEDZARR_WERROR=ON -DSHARDEDZARR_ZSTD=OFF -DSHARDEDZARR_BLOSC=OFF -DSHARDEDZARR_BZ2=OFF -DSHARDEDZARR_ZFP=OFF &&
        cmake --build build-bare --target gdal_ShardedZarr -j "$(nproc)"
}

export FUZZ_SECONDS="${FUZZ_SECONDS:-$([ "${CI:-}" = true ] && echo 20 || echo 60)}" # of each target
case $wanted in
suite | all) step "tests with GDAL of this Debian" sh autotest/suite.sh build ;;
*) exec sh autotest/suite.sh build "$wanted" ;;
esac
[ "$wanted" = all ] || {
    printf '\nsteps: 1 passed, 0 failed; `sh autotest/run.sh all` runs the others\n'
    exit 0
}
step "the first command of the README" sh data/egm96.sh
step "clang compiles without a warning" clang_build
step "compiles without zstd, blosc, bz2 and zfp" bare_build
step "a codec and an option, added as the contributors' page says" sh autotest/recipes.sh build-recipes
forget build-recipes
step "tests with ASan and UBSan" asan_tests
forget build-asan build-bare build-clang
step "tests in C with ThreadSanitizer" sh autotest/tsan.sh build-tsan
forget build-tsan
step "each fuzz target for a minute" sh autotest/fuzz.sh build-fuzz
forget build-fuzz
step "tests in C on i386" sh autotest/in_debian.sh bookworm:i386 sh autotest/suite.sh /work/build C
forget "${SHARDEDZARR_ROOTS:-build/roots}/bookworm-i386"
step "tests with GDAL of trixie" sh autotest/in_debian.sh trixie sh autotest/suite.sh /work/build
step "thread-safe datasets of trixie's GDAL with ThreadSanitizer" \
    sh autotest/in_debian.sh trixie sh autotest/tsan.sh /work/build-tsan test_threads_top test_array_threads
forget "${SHARDEDZARR_ROOTS:-build/roots}/trixie"
step "tests with GDAL of sid" sh autotest/in_debian.sh sid sh autotest/suite.sh /work/build
step "benchmark runs, in a small size" sh autotest/benchmark/run.sh --size small
printf '\nsteps: %d passed, 0 failed\n' "$passed"
