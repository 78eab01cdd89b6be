/* CRC32C, with the instructions of the processor where it has them; and checksums of bytes as codecs: four bytes,
 * little-endian, before or behind the data. crc32c (core specification), and those of numcodecs. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "codec/codec.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HAVE_SSE42 1
#else
#define HAVE_SSE42 0
#endif

/* ---- CRC32C ---- */

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

/* ---- Codecs ---- */

struct checksum {
    int64_t at_start;
    int64_t seed; /* jenkins_lookup3: initval */
};

static enum zs_status configure_jenkins(const zs_json *configuration, struct zs_stage *stage, struct zs_error *err)
{
    if (zs_json_typeof(zs_json_get(configuration, "prefix")) != ZS_JSON_NULL)
        return zs_fail(err, ZS_UNSUPPORTED, "prefix is not supported");
    return ZS_OK;
}

/* Fletcher's sums of 16-bit words, big-endian, as HDF5 has them. 360 words are what 32 bits hold before they are
 * reduced. */
static uint32_t fletcher32(const unsigned char *bytes, size_t n)
{
    uint32_t low = 0, high = 0;
    for (size_t words = n / 2; words > 0;) {
        size_t part = words < 360 ? words : 360;
        words -= part;
        for (; part > 0; part--, bytes += 2) {
            low += (uint32_t)bytes[0] << 8 | bytes[1];
            high += low;
        }
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    if (n % 2 != 0) {
        low += (uint32_t)bytes[0] << 8;
        high += low;
        low = (low & 0xffff) + (low >> 16);
        high = (high & 0xffff) + (high >> 16);
    }
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
    return high << 16 | low;
}

static uint32_t rotate(uint32_t x, int k)
{
    return x << k | x >> (32 - k);
}

/* Bob Jenkins' lookup3, bytes as little-endian words. */
static uint32_t lookup3(const unsigned char *bytes, size_t n, uint32_t seed)
{
    uint32_t a = 0xdeadbeef + (uint32_t)n + seed, b = a, c = a;
    for (; n > 12; n -= 12, bytes += 12) {
        a += zs_load_le32(bytes);
        b += zs_load_le32(bytes + 4);
        c += zs_load_le32(bytes + 8);
        a -= c, a ^= rotate(c, 4), c += b;
        b -= a, b ^= rotate(a, 6), a += c;
        c -= b, c ^= rotate(b, 8), b += a;
        a -= c, a ^= rotate(c, 16), c += b;
        b -= a, b ^= rotate(a, 19), a += c;
        c -= b, c ^= rotate(b, 4), b += a;
    }
    if (n == 0)
        return c;
    unsigned char rest[12] = {0};
    memcpy(rest, bytes, n);
    a += zs_load_le32(rest);
    b += zs_load_le32(rest + 4);
    c += zs_load_le32(rest + 8);
    c ^= b, c -= rotate(b, 14);
    a ^= c, a -= rotate(c, 11);
    b ^= a, b -= rotate(a, 25);
    c ^= b, c -= rotate(b, 16);
    a ^= c, a -= rotate(c, 4);
    b ^= a, b -= rotate(a, 14);
    c ^= b, c -= rotate(b, 24);
    return c;
}

extern const struct zs_codec zs_codec_numcodecs_crc32, zs_codec_numcodecs_adler32,
    zs_codec_numcodecs_fletcher32, zs_codec_numcodecs_jenkins;

static uint32_t sum_of(const struct zs_stage *stage, const unsigned char *bytes, size_t n)
{
    if (stage->codec == &zs_codec_numcodecs_crc32)
        return zs_crc32(bytes, n);
    if (stage->codec == &zs_codec_numcodecs_adler32)
        return zs_adler32(bytes, n);
    if (stage->codec == &zs_codec_numcodecs_fletcher32)
        return fletcher32(bytes, n);
    if (stage->codec == &zs_codec_numcodecs_jenkins)
        return lookup3(bytes, n, (uint32_t)((const struct checksum *)stage->state)->seed);
    return zs_crc32c(bytes, n);
}

static enum zs_status strip(const struct zs_stage *stage, const unsigned char **data, size_t *n, struct zs_error *err)
{
    const struct checksum *state = stage->state;
    if (*n < 4)
        return zs_fail(err, ZS_CORRUPT, "%s: expected at least 4 bytes, found %zu", stage->codec->name, *n);
    *n -= 4;
    const uint32_t stored = zs_load_le32(state->at_start != 0 ? *data : *data + *n);
    if (state->at_start != 0)
        *data += 4;
    const uint32_t computed = sum_of(stage, *data, *n);
    if (stored != computed)
        return zs_fail(err, ZS_CORRUPT, "%s checksum: expected 0x%08x, found 0x%08x", stage->codec->name, stored,
                       computed);
    return ZS_OK;
}

static enum zs_status encode(const struct zs_stage *stage, struct zs_scratch *scratch, const void *src, size_t n,
                             struct zs_buffer *out, struct zs_error *err)
{
    const struct checksum *state = stage->state;
    const uint32_t c = sum_of(stage, src, n);
    unsigned char sum[4];
    zs_store_le(sum, c, sizeof sum);
    ZS_TRY(zs_buffer_reset(out, n + 4, err));
    if (state->at_start != 0)
        ZS_TRY(zs_buffer_append(out, sum, 4, err));
    ZS_TRY(zs_buffer_append(out, src, n, err));
    return state->at_start != 0 ? ZS_OK : zs_buffer_append(out, sum, 4, err);
}

static const char *const locations[] = {"end", "start", NULL};
static const struct zs_member crc32c_members[] = {{.name = "check_crc"}, {0}}; /* GDAL's; here it is always checked */
static const struct zs_member start_members[] = {
    {"location", ZS_MEMBER_CHOICE, offsetof(struct checksum, at_start), .choices = locations, .standard = 1}, {0}};
static const struct zs_member end_members[] = {
    {"location", ZS_MEMBER_CHOICE, offsetof(struct checksum, at_start), .choices = locations}, {0}};
static const struct zs_member jenkins_members[] = {
    {"initval", ZS_MEMBER_INTEGER, offsetof(struct checksum, seed), .high = UINT32_MAX}, {.name = "prefix"}, {0}};

#define CHECKSUM(variable, text, known, own)                                                                           \
    const struct zs_codec variable = {.name = text,                                                                    \
                                      .kind = ZS_BYTES_TO_BYTES,                                                       \
                                      .members = known,                                                                \
                                      .state_size = sizeof(struct checksum),                                           \
                                      .configure = own,                                                                \
                                      .strip = strip,                                                                  \
                                      .encode = encode}
CHECKSUM(zs_codec_crc32c, "crc32c", crc32c_members, NULL);
CHECKSUM(zs_codec_numcodecs_crc32, "numcodecs.crc32", start_members, NULL);
CHECKSUM(zs_codec_numcodecs_adler32, "numcodecs.adler32", start_members, NULL);
CHECKSUM(zs_codec_numcodecs_crc32c, "numcodecs.crc32c", end_members, NULL);
CHECKSUM(zs_codec_numcodecs_fletcher32, "numcodecs.fletcher32", NULL, NULL);
CHECKSUM(zs_codec_numcodecs_jenkins, "numcodecs.jenkins_lookup3", jenkins_members, configure_jenkins);
