/* Encoded bytes of anyone's: decoded to a known size, and up to a limit. Byte 0 is the codecs, bytes 1 and 2 the
 * size. */
#include <stdlib.h>

#include "codec/codec.h"
#include "fuzz.h"

static const char *const chains[][3] = {{"gzip"},
                                        {"zstd"},
                                        {"blosc"},
                                        {"gzip", "zstd"},
                                        {"blosc", "crc32c"},
                                        {"crc32c", "gzip"},
                                        {"numcodecs.zlib"},
                                        {"numcodecs.bz2"},
                                        {"numcodecs.lz4"},
                                        {"numcodecs.lzma"},
                                        {"numcodecs.shuffle", "numcodecs.adler32"},
                                        {"numcodecs.crc32", "numcodecs.fletcher32"},
                                        {"numcodecs.jenkins_lookup3", "numcodecs.lz4"}};
enum { CHAINS = sizeof chains / sizeof chains[0] };

static int chain_of(int number, struct zs_stage *chain)
{
    struct zs_error err;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT16)};
    const struct zs_codec *codec;
    int count = 0;
    for (; count < 3 && chains[number][count] != NULL; count++) {
        if (zs_codec_find(chains[number][count], &codec, &err) != ZS_OK ||
            zs_stage_parse(codec, NULL, &form, &chain[count], &err) != ZS_OK)
            break; /* not in this build: those before it */
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct zs_error err = {""};
    struct zs_stage chain[3];
    if (size < 3)
        return 0;
    const int count = chain_of(data[0] % CHAINS, chain);
    if (count == 0)
        return 0; /* this build lacks a library */
    const size_t wanted = (size_t)data[1] | (size_t)data[2] << 8;
    struct zs_scratch *scratch = zs_scratch_acquire();
    /* of the exact size: the sanitizer watches both ends */
    uint8_t *out = malloc(wanted != 0 ? wanted : 1), *in = malloc(size);
    if (scratch == NULL || out == NULL || in == NULL)
        abort();
    memcpy(in, data + 3, size - 3);
    memset(out, 0x55, wanted);
    if (zs_bytes_decode(chain, count, scratch, in, size - 3, out, wanted, &err) == ZS_OK) {
        uint8_t *again = malloc(wanted != 0 ? wanted : 1);
        if (again == NULL)
            abort();
        memset(again, 0xAA, wanted);
        if (zs_bytes_decode(chain, count, scratch, in, size - 3, again, wanted, &err) != ZS_OK ||
            memcmp(out, again, wanted) != 0)
            abort(); /* not every byte was written */
        free(again);
    } else if (err.message[0] == '\0') {
        abort();
    }
    struct zs_buffer buffer = {0};
    if (zs_bytes_decode_up_to(chain, count, scratch, in, size - 3, wanted, &buffer, &err) == ZS_OK &&
        buffer.size > wanted)
        abort();
    zs_buffer_free(&buffer);
    for (int i = 0; i < count; i++)
        zs_stage_clear(&chain[i]);
    zs_scratch_release(scratch);
    free(out);
    free(in);
    return 0;
}
