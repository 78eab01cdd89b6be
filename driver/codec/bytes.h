/* codec/bytes.h: what the bytes codec and shard indexes share. */
#ifndef ZS_CODEC_BYTES_H
#define ZS_CODEC_BYTES_H

#include "base/status.h"
#include "zarr/json.h"

/* Reads {"endian": ...} of a `bytes` codec (or `endian`, its name before 2023); little where it is missing. */
enum zs_status zs_endian_parse(const zs_json *configuration, bool *big_endian, struct zs_error *err) ZS_MUST_CHECK;

/* Copies n bytes with those of each group of `unit` bytes reversed. `to` is `from`, or does not overlap it. */
void zs_swap_bytes(const void *from, void *to, size_t n, size_t unit);

#endif
