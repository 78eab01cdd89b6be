/* CRC32C: known values, and the fast way equal to the slow ones. */
#include "array_store.h"
#include "codec/codec.h"

static void test_known_values(void)
{
    /* RFC 3720, B.4 */
    unsigned char data[32] = {0};
    CHECK_EQ_U64(zs_crc32c(data, 32), 0x8A9136AAu);
    memset(data, 0xFF, 32);
    CHECK_EQ_U64(zs_crc32c(data, 32), 0x62A8AB43u);
    for (unsigned i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    CHECK_EQ_U64(zs_crc32c(data, 32), 0x46DD794Eu);
    for (unsigned i = 0; i < 32; i++)
        data[i] = (unsigned char)(31 - i);
    CHECK_EQ_U64(zs_crc32c(data, 32), 0x113FDB5Cu);
    static const unsigned char scsi_read[48] = {1,    0xc0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0, 0, 0, 0, 0,
                                                0x14, 0,    0, 0, 0, 0, 0x04, 0,    0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                                0x28, 0,    0, 0, 0, 0, 0,    0,    0x02, 0, 0, 0, 0, 0, 0, 0};
    CHECK_EQ_U64(zs_crc32c(scsi_read, 48), 0xD9963A56u);
    CHECK_EQ_U64(zs_crc32c("123456789", 9), 0xE3069283u);
    CHECK_EQ_U64(zs_crc32c_portable("123456789", 9), 0xE3069283u);
    CHECK_EQ_U64(zs_crc32c("", 0), 0);
    CHECK_EQ_U64(zs_crc32c(NULL, 0), 0);
    CHECK_EQ_U64(zs_crc32c_portable(NULL, 0), 0);
}

static void test_fast_portable_and_slow_are_equal_at_all_lengths_and_alignments(void)
{
    uint64_t rng = 9;
    for (size_t length = 0; length < 300; length++)
        for (size_t alignment = 0; alignment < 16; alignment++) {
            unsigned char *block = malloc(length + alignment + 1); /* nothing behind it to read */
            unsigned char *data = block + alignment + 1;
            for (size_t i = 0; i < length; i++)
                data[i] = (unsigned char)rng_next(&rng);
            const uint32_t fast = zs_crc32c(data, length);
            CHECK_EQ_U64(zs_crc32c_portable(data, length), fast);
            CHECK_EQ_U64(slow_crc32c(data, length), fast);
            free(block);
        }
}

static void test_long_data(void)
{
    const size_t n = (3 << 20) + 5;
    unsigned char *data = malloc(n);
    uint64_t rng = 10;
    for (size_t i = 0; i < n; i++)
        data[i] = (unsigned char)rng_next(&rng);
    CHECK_EQ_U64(zs_crc32c(data, n), zs_crc32c_portable(data, n));
    CHECK_EQ_U64(zs_crc32c(data, n), slow_crc32c(data, n));
    free(data);
}

int main(void)
{
    RUN(test_known_values);
    RUN(test_fast_portable_and_slow_are_equal_at_all_lengths_and_alignments);
    RUN(test_long_data);
    return check_result();
}
