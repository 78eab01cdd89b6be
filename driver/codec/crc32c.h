/* codec/crc32c.h: the Castagnoli CRC of RFC 3720, as the crc32c codec and shard indexes use it, and the checksums that
 * come with libdeflate (gzip.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC32C of n bytes (initial value and final inversion included): "123456789" gives 0xE3069283. */
uint32_t zs_crc32c(const void *data, size_t n);

/* Computes it without special instructions: the reference that tests compare with. */
uint32_t zs_crc32c_portable(const void *data, size_t n);

/* crc32 and adler32 of zlib, of n bytes: "123456789" gives 0xCBF43926 and 0x091E01DE. */
uint32_t zs_crc32(const void *data, size_t n);
uint32_t zs_adler32(const void *data, size_t n);
