#!/bin/sh
# The tests, on a Debian 12 with nothing but sh and apt-get, as root:
#   sh autotest/run.sh        builds, and runs the tests with the GDAL of this Debian: some ten minutes on two cores
#   sh autotest/run.sh all    everything: also with sanitizers and fuzzing, and with the GDALs of Debian 13 and sid; forty
#                             minutes and some 12 GB.
#                             CI=true means the same.
#   sh autotest/run.sh NAME   one test: of a file in autotest/unit (test_codec), else what pytest finds by that name (-k)
# The second time takes less, since what was built and installed under build*/ is kept.
# What cannot be had (a library from PyPI, another Debian) is SKIPPED; with CI=true that is a failure.
# Each step says what it cost, and a table of all comes last. The first are those that fail first. Another Debian comes from its mirror beside
# steps of this one, when the Debian before is gone.
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
case $wanted in
suite | all) ;;
*) exec sh autotest/suite.sh build "$wanted" ;;
esac
. autotest/steps.sh

# CI begins with nothing each time, on a disk that may be small: there what no later step needs goes.
forget() { # DIRECTORY...
    [ "${CI:-}" != true ] || rm -rf "$@"
}
debian() { # SUITE COMMAND...
    sh autotest/in_debian.sh "$@"
}
prepare() { # SUITE: beside the next steps
    beside "$1" sh autotest/in_debian.sh "$1" sh autotest/suite.sh --prepare /work/build
}
wheel() {
    sh autotest/wheel.sh build-wheel 3.6 3.9 3.10 3.12 && sh autotest/wheel_tests.sh build-wheel
}
asan_c() {
    FAULTS_STEP=61 sh autotest/in_memory.sh ctest --test-dir build-asan --output-on-failure -j "$(nproc)"
}
asan_python() {
    # Python is not built with ASan, which must then be loaded first (and libstdc++, whose exceptions ASan watches), and never
    # frees all that it has.
    LD_PRELOAD="$(clang -print-file-name="libclang_rt.asan-$(uname -m).so") $(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
        sh autotest/pytest.sh build-asan build/peers
}

export FUZZ_SECONDS="${FUZZ_SECONDS:-$([ "${CI:-}" = true ] && echo 10 || echo 60)}" # of each target
export PYTEST_WORKERS="${PYTEST_WORKERS:-$(($(nproc) + 1))}" # one more than processors: tests wait for disks, servers and kills
roots=${SHARDEDZARR_ROOTS:-build/roots}
if [ "$wanted" = all ]; then
    step "what other steps need of this Debian" sh autotest/install.sh clang libclang-rt-dev debootstrap
    prepare sid
fi
step "tests with GDAL of this Debian" sh autotest/suite.sh build
[ "$wanted" = all ] || {
    printf '\nsteps: 1 passed, 0 failed; `sh autotest/run.sh all` runs the others\n'
    exit 0
}
step "the first command of the README" sh data/egm96.sh
step "the Python wheel with plugins for four GDALs, and rasterio from PyPI" wheel
step "Debian sid" await sid
# 3.6 runs every case: the first and the last of each test tell what another GDAL, or memory, does otherwise.
cases=${PYTEST_CASES:-}
export PYTEST_CASES="${cases:-2}"
step "tests with GDAL of sid" debian sid sh autotest/suite.sh /work/build
step "benchmark runs, in a small size: a case of each kind" sh autotest/benchmark/run.sh --size small \
    --cases '^(create, ZSTD|read all|open$|one map a day, APPEND|cube: netCDF to|ZEP 2, open|deep: map$|repository: read|HTTP 50 ms: 200)'
forget "$roots/sid"
prepare trixie
step "build with clang, ASan and UBSan" sh autotest/asan.sh build-asan
step "tests in C with ASan and UBSan" asan_c
step "tests in Python with ASan and UBSan" asan_python
forget build-asan
# but fuzz_open, whose build takes as long as all others, for some hundred inputs in that time
step "fuzz targets for $FUZZ_SECONDS seconds each" sh autotest/fuzz.sh build-fuzz chain shard journal codec icechunk
forget build-fuzz
step "Debian trixie" await trixie
step "tests with GDAL of trixie" debian trixie sh autotest/suite.sh /work/build Python
step "the Python wheel with the newest rasterio" debian trixie sh autotest/wheel_tests.sh build-wheel
forget build-wheel
step "tests in C with ThreadSanitizer, and thread-safe datasets" debian trixie sh autotest/tsan.sh /work/build-tsan
forget "$roots/trixie"
step "a codec and an option, added as the page says, without zstd, blosc, bz2 and zfp" sh autotest/recipes.sh build-recipes
forget build-recipes
tell_steps
printf '\nsteps: %d passed, 0 failed\n' "$passed"
