/* numcodecs.bz2, by libbz2. */
#include "codec/codec.h"

#ifdef ZS_HAVE_BZ2
#include <bzlib.h>
#include <stddef.h>

struct bz2 {
    int64_t level;
};

/* libbz2 counts in unsigned int, which would cut off larger sizes. */
static enum zs_status check_size(uint64_t n, struct zs_error *err)
{
    return n <= UINT32_MAX ? ZS_OK
                           : zs_fail(err, ZS_UNSUPPORTED, "numcodecs.bz2: expected at most %u bytes, found %llu",
                                     UINT32_MAX, (unsigned long long)n);
}

static enum zs_status decode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             void *dst, size_t capacity, size_t *produced, struct zs_error *err)
{
    unsigned size = capacity < UINT32_MAX ? (unsigned)capacity : UINT32_MAX;
    ZS_TRY(check_size(n, err));
    const int r = BZ2_bzBuffToBuffDecompress(dst, &size, (char *)(uintptr_t)src, (unsigned)n, 0, 0);
    if (r == BZ_OUTBUFF_FULL && capacity > UINT32_MAX)
        return check_size(capacity, err);
    if (r != BZ_OK)
        return zs_fail(err, ZS_CORRUPT, "numcodecs.bz2: %zu bytes do not decode to at most %zu: error %d", n, capacity,
                       r);
    *produced = size;
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    ZS_TRY(check_size(n, err));
    ZS_TRY(zs_buffer_reset(out, zs_bytes_bound(n), err));
    unsigned size = out->capacity < UINT32_MAX ? (unsigned)out->capacity : UINT32_MAX;
    const int level = (int)((const struct bz2 *)stage->state)->level;
    const int r = BZ2_bzBuffToBuffCompress((char *)out->data, &size, (char *)(uintptr_t)src, (unsigned)n, level, 0, 0);
    if (r != BZ_OK)
        return zs_fail_memory(err);
    out->size = size;
    return ZS_OK;
}

static const struct zs_member members[] = {
    {"level", ZS_MEMBER_INTEGER, offsetof(struct bz2, level), .low = 1, .high = 9, .standard = 1}, {0}};
const struct zs_codec zs_codec_numcodecs_bz2 = {.name = "numcodecs.bz2",
                                                .kind = ZS_BYTES_TO_BYTES,
                                                .members = members,
                                                .state_size = sizeof(struct bz2),
                                                .decode = decode,
                                                .encode = encode};
#else
const struct zs_codec zs_codec_numcodecs_bz2 = {.name = "numcodecs.bz2", .lacks = "libbz2"};
#endif
