#include "codec/codec.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"

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
