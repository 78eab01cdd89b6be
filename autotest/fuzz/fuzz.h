/* fuzz.h: what every fuzz target begins with. Built with -DSHARDEDZARR_FUZZ=ON (clang) they are libFuzzer programs,
 * else they replay the inputs under corpus/, which is a test. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
