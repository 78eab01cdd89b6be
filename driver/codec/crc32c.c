#include "codec/crc32c.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HAVE_SSE42 1
#else
#define HAVE_SSE42 0
#endif

/* Slicing-by-8: table[k][b] is the CRC of byte b followed by k zero bytes. */
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_make(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = (c >> 1) ^ (0x82F63B78u & (0u - (c & 1)));
        table[0][i] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++)
            table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 0xFF];
}

uint32_t zs_crc32c_portable(const void *data, size_t n)
{
    pthread_once(&table_once, table_make);
    const unsigned char *p = data;
    uint32_t c = 0xFFFFFFFFu;
    for (; n >= 8; n -= 8, p += 8) {
        const uint64_t v = zs_load_le64(p) ^ c;
        c = table[7][v & 0xFF] ^ table[6][v >> 8 & 0xFF] ^ table[5][v >> 16 & 0xFF] ^ table[4][v >> 24 & 0xFF] ^
            table[3][v >> 32 & 0xFF] ^ table[2][v >> 40 & 0xFF] ^ table[1][v >> 48 & 0xFF] ^ table[0][v >> 56];
    }
    for (; n > 0; n--, p++)
        c = table[0][(c ^ *p) & 0xFF] ^ c >> 8;
    return ~c;
}

#if HAVE_SSE42
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t c = 0xFFFFFFFFu;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        c = _mm_crc32_u64(c, v);
    }
    for (; n > 0; n--, p++)
        c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}
#endif

uint32_t zs_crc32c(const void *data, size_t n)
{
#if HAVE_SSE42
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(data, n);
#endif
    return zs_crc32c_portable(data, n);
}

/* ---- The codec: 4 bytes of checksum, little-endian, behind the data (core specification, crc32c codec) ---- */

static enum zs_status parse(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    (void)configuration;
    (void)stage;
    (void)err;
    return ZS_OK;
}

static enum zs_status strip(const struct zs_stage *stage, const unsigned char **data, size_t *n, struct zs_error *err)
{
    (void)stage;
    if (*n < 4)
        return zs_fail(err, ZS_CORRUPT, "crc32c: expected at least 4 bytes, found %zu", *n);
    *n -= 4;
    const uint32_t stored = zs_load_le32(*data + *n);
    const uint32_t computed = zs_crc32c(*data, *n);
    if (stored != computed)
        return zs_fail(err, ZS_CORRUPT, "crc32c checksum: expected 0x%08x, found 0x%08x", stored, computed);
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    (void)stage;
    (void)scratch;
    const uint32_t c = zs_crc32c(src, n);
    const unsigned char sum[4] = {c & 0xFF, c >> 8 & 0xFF, c >> 16 & 0xFF, (unsigned char)(c >> 24)};
    ZS_TRY(zs_buffer_reset(out, n + 4, err));
    ZS_TRY(zs_buffer_append(out, src, n, err));
    return zs_buffer_append(out, sum, 4, err);
}

/* In GDAL this decides whether it checks on reading; here it is always checked. */
static const char *const members[] = {"check_crc", NULL};
const struct zs_codec zs_codec_crc32c = {
    .name = "crc32c", .kind = ZS_BYTES_TO_BYTES, .members = members, .parse = parse, .strip = strip, .encode = encode};
