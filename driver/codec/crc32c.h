/* codec/crc32c.h: the Castagnoli CRC of RFC 3720, as the crc32c codec and shard indexes use it. */
#ifndef ZS_CODEC_CRC32C_H
#define ZS_CODEC_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C of n bytes (initial value and final inversion included): "123456789" gives 0xE3069283. */
uint32_t zs_crc32c(const void *data, size_t n);

/* The same without special instructions: what the fast one is tested against. */
uint32_t zs_crc32c_portable(const void *data, size_t n);

#endif
