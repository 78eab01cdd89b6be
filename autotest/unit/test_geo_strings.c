/* Arrays of text, which name bands: what is stored becomes UTF-8, what cannot be is refused, what is missing is fill
 * value. */
#include "array/array.h"
#include "array/strings.h"
#include "base/utf8.h"
#include "codec/codec.h"
#include "geo_store.h"

#define UTF32(bytes) "{'name':'fixed_length_utf32','configuration':{'length_bytes':" #bytes "}}"
#define LITTLE "[{'name':'bytes','configuration':{'endian':'little'}}]"
#define BIG "[{'name':'bytes','configuration':{'endian':'big'}}]"
#define SHARDS(inner, codecs)                                                                 \
    "[{'name':'sharding_indexed','configuration':{'chunk_shape':[" inner "],'codecs':" codecs \
    ",'index_codecs':[{'name':'bytes','configuration':{'endian':'little'}},{'name':'crc32c'}]}}]"

/* An array `t` of text along the dimension `band`, and `a` of (band, y, x), of which it is the coordinate variable. */
static void put_text_in(struct geo_store *s, const char *type, const char *length, const char *grid, const char *fill,
                        const char *codecs)
{
    char *text = zs_format("{'zarr_format':3,'node_type':'array','shape':[%s],'dimension_names':['band'],'data_type':%s"
                           ",'fill_value':%s,'chunk_grid':%s,'chunk_key_encoding':{'name':'default'},'codecs':%s}",
                           length, type, fill, grid, codecs);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    put_group(s, "", "{}");
    put_document(s, "band", text);
    char *shape = zs_format("[%s,2,2]", length);
    put_array(s, "a", shape, "['band','y','x']", "uint8", "0", "{}");
    free(shape);
}

static void put_text(struct geo_store *s, const char *type, const char *length, const char *chunk, const char *fill,
                     const char *codecs)
{
    char *grid = zs_format("{'name':'regular','configuration':{'chunk_shape':[%s]}}", chunk);
    put_text_in(s, type, length, grid, fill, codecs);
    free(grid);
}

/* The elements joined by "|", or the message of the failure behind its status. */
static const char *texts(struct geo_store *s, uint64_t first, uint64_t count)
{
    static char joined[2048];
    struct zs_error err = {""};
    char **values;
    bool is_blank = false;
    const struct zs_node *node = open_node(s, "band");
    CHECK(node->is_text && node->array == NULL && node->array_status == ZS_UNSUPPORTED);
    const enum zs_status status = zs_strings_read(s->h, node, first, count, &values, &is_blank, &err);
    if (status != ZS_OK) {
        (void)snprintf(joined, sizeof joined, "%s: %s",
                       status == ZS_CORRUPT       ? "corrupt"
                       : status == ZS_INVALID     ? "invalid"
                       : status == ZS_UNSUPPORTED ? "unsupported"
                                                  : "?",
                       err.message);
        return joined;
    }
    joined[0] = '\0';
    for (uint64_t i = 0; i < count; i++) {
        strcat(joined, i > 0 ? "|" : "");
        strcat(joined, values[i]);
    }
    strcat(joined, is_blank ? " (blank)" : "");
    zs_strings_free(values, (size_t)count);
    return joined;
}

static void check_texts(struct geo_store *s, uint64_t first, uint64_t count, const char *expected)
{
    CHECK_EQ_STR(texts(s, first, count), expected);
    close_store(s);
}

static size_t put_le32(unsigned char *out, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(v >> (8 * i));
    return 4;
}

/* What vlen-utf8 makes of texts separated by "|". */
static size_t vlen(unsigned char *out, const char *joined)
{
    uint32_t n = 1;
    for (const char *p = joined; *p != '\0'; p++)
        n += *p == '|';
    size_t at = put_le32(out, n);
    for (uint32_t i = 0; i < n; i++) {
        const size_t length = strcspn(joined, "|");
        at += put_le32(out + at, (uint32_t)length);
        memcpy(out + at, joined, length);
        at += length;
        joined += length + 1;
    }
    return at;
}

static void put_vlen(struct geo_store *s, const char *key, const char *joined)
{
    unsigned char bytes[256];
    put(s, key, bytes, vlen(bytes, joined));
}

static void test_utf8_is_that_of_the_rfc(void)
{
    static const char *const good[] = {"",
                                       "a",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x82",
                                      "a\xc3(",
                                      "\xfe"};
    size_t n;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(zs_utf8_check(good[i], strlen(good[i]), &n) && n == (i > 0));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!zs_utf8_check(bad[i], strlen(bad[i]), NULL));
    char out[4];
    for (uint32_t code = 0; code < 0x111000; code++) {
        const size_t length = zs_utf8_put(code, out);
        const bool is_point = code < 0xD800 || (code > 0xDFFF && code < 0x110000);
        if ((length != 0) != is_point || (is_point && (!zs_utf8_check(out, length, &n) || n != 1)))
            CHECK_EQ_U64(code, UINT32_MAX); /* what is written is read, and only code points are written */
    }
}

static void test_fixed_length_text_in_either_byte_order(void)
{
    static const uint32_t codes[3][4] = {{'r', 'e', 'd', 0}, {0x1F6F0, 0xE9, 0x4E2D, 'x'}, {0, 0, 0, 0}};
    unsigned char little[48], big[48];
    for (int i = 0; i < 12; i++)
        for (int b = 0; b < 4; b++) {
            little[4 * i + b] = (unsigned char)(codes[i / 4][i % 4] >> (8 * b));
            big[4 * i + 3 - b] = little[4 * i + b];
        }
    const char *expected = "red|\xf0\x9f\x9b\xb0\xc3\xa9\xe4\xb8\xadx|";
    struct geo_store s = {0};
    put_text(&s, UTF32(16), "3", "3", "''", LITTLE);
    put(&s, "band/c/0", little, 48);
    check_texts(&s, 0, 3, expected);
    put_text(&s, UTF32(16), "3", "3", "''", BIG);
    put(&s, "band/c/0", big, 48);
    check_texts(&s, 0, 3, expected);
    put_text(&s, UTF32(16), "3", "1", "'none'", LITTLE); /* three chunks, one missing */
    put(&s, "band/c/0", little, 16);
    put(&s, "band/c/2", little + 32, 16);
    check_texts(&s, 0, 3, "red|none|");
    put_text(&s, UTF32(16), "3", "3", "''", LITTLE);
    put(&s, "band/c/0", little, 48);
    check_texts(&s, 0, 1, "red");
}

static void test_fixed_length_text_in_shards(void)
{
    struct geo_store s = {0};
    unsigned char shard[8 + 32 + 4] = {'N', 0, 0, 0, 'S', 0, 0, 0};
    memset(shard + 8, 0xFF, 32);
    put_le32(shard + 8, 0), put_le32(shard + 12, 0);
    put_le32(shard + 16, 8), put_le32(shard + 20, 0);
    put_le32(shard + 40, zs_crc32c(shard + 8, 32));
    put_text(&s, UTF32(4), "4", "4", "'-'", SHARDS("2", LITTLE));
    put(&s, "band/c/0", shard, sizeof shard);
    check_texts(&s, 0, 4, "N|S|-|-");
}

static void test_invalid_text_is_refused(void)
{
    static const uint32_t bad[][2] = {{0xD800, 0}, {0x110000, 0}, {'a', 0xFFFFFFFF}, {0, 'a'}};
    struct geo_store s = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unsigned char bytes[8];
        put_le32(bytes, bad[i][0]), put_le32(bytes + 4, bad[i][1]);
        put_text(&s, UTF32(8), "1", "1", "''", LITTLE);
        put(&s, "band/c/0", bytes, 8);
        CHECK_CONTAINS(texts(&s, 0, 1), "corrupt");
        close_store(&s);
    }
    static const char *const utf8[] = {"\xff", "ok\xc0\x80", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof utf8 / sizeof utf8[0]; i++) {
        put_text(&s, "'string'", "1", "1", "''", "['vlen-utf8']");
        put_vlen(&s, "band/c/0", utf8[i]);
        CHECK_CONTAINS(texts(&s, 0, 1), "corrupt");
        close_store(&s);
    }
    put_text(&s, "'string'", "1", "1", "''", "['vlen-utf8']");
    put(&s, "band/c/0", "\1\0\0\0\3\0\0\0a\0b", 11);
    CHECK_CONTAINS(texts(&s, 0, 1), "corrupt");
    close_store(&s);
}

static void test_invalid_text_types_and_fill_values_are_refused(void)
{
    struct geo_store s = {0};
    static const char *const cases[][4] = {
        {UTF32(6), "''", LITTLE, "length_bytes"},
        {UTF32(0), "''", LITTLE, "length_bytes"},
        {UTF32(-4), "''", LITTLE, "length_bytes"},
        {"'fixed_length_utf32'", "''", LITTLE, "length_bytes"},
        {UTF32(8), "7", LITTLE, "fill_value"},
        {UTF32(8), "'abc'", LITTLE, "fill_value"},
        {"'string'", "[1]", "['vlen-utf8']", "fill_value"},
        {"'string'", "''", LITTLE, "vlen-utf8"},
        {UTF32(8), "''", "[{'name':'scale_offset','configuration':{'offset':1}},'bytes']", "scale_offset"},
        {UTF32(8), "''", "['packbits']", "packbits"},
        {"'string'", "''", "[{'name':'numcodecs.delta','configuration':{'dtype':'|u1'}},'vlen-utf8']",
         "numcodecs.delta"},
        {UTF32(8), "''", "['vlen-utf8']", "vlen-utf8"},
        {"'string'", "''", "['vlen-utf8','acme.x']", "acme.x"},
        {"'string'", "''", "['vlen-utf8','bytes']", "bytes"},
        {UTF32(18446744073709551612), "''", LITTLE, "zarr.json"},
        {"'string'", "''", "['sharding_indexed']", "zarr.json"},
        {"'string'", "''", "[]", "zarr.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_text(&s, cases[i][0], "2", "2", cases[i][1], cases[i][2]);
        CHECK_CONTAINS(texts(&s, 0, 2), cases[i][3]);
        CHECK(strstr(texts(&s, 0, 2), "invalid") != NULL || strstr(texts(&s, 0, 2), "unsupported") != NULL);
        close_store(&s);
    }
    put_text(&s, UTF32(8), "2", "2", "null", LITTLE);
    check_texts(&s, 0, 2, "| (blank)");
    put_text(&s, "'string'", "2", "2", "'\xc3\xa9'", "['vlen-utf8']");
    check_texts(&s, 0, 2, "\xc3\xa9|\xc3\xa9 (blank)");
}

static void test_strings_in_chunks(void)
{
    struct geo_store s = {0};
    put_text(&s, "'string'", "5", "2", "'?'", "['vlen-utf8']");
    put_vlen(&s, "band/c/0", "A00|");
    put_vlen(&s, "band/c/2", "gr\xc3\xbcn|beyond the edge");
    CHECK_EQ_STR(texts(&s, 0, 5), "A00||?|?|gr\xc3\xbcn");
    CHECK_EQ_STR(texts(&s, 1, 2), "|?");
    CHECK_EQ_STR(texts(&s, 2, 2), "?|? (blank)");
    check_texts(&s, 4, 1, "gr\xc3\xbcn");
}

/* The bytes of a codec with its defaults. */
static size_t encoded(const char *name, const void *in, size_t n, unsigned char *out)
{
    struct zs_error err = {""};
    const struct zs_codec *codec;
    struct zs_form form = {.dtype = zs_dtype_of(ZS_UINT8)};
    struct zs_stage stage = {0};
    struct zs_scratch *scratch = zs_scratch_acquire();
    const void *data = NULL;
    size_t size = 0;
    if (zs_codec_find(name, &codec, &err) == ZS_OK &&
        CHECK(zs_stage_parse(codec, NULL, &form, &stage, &err) == ZS_OK) &&
        CHECK(zs_bytes_encode(&stage, 1, scratch, in, n, &data, &size, &err) == ZS_OK))
        memcpy(out, data, size);
    zs_stage_clear(&stage);
    zs_scratch_release(scratch);
    return size;
}

static void test_strings_behind_codecs(void)
{
    static const char *const names[] = {"crc32c", "gzip", "zstd", "blosc"};
    struct geo_store s = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsigned char bytes[256], stored[1024];
        const size_t n = encoded(names[i], bytes, vlen(bytes, "red|green"), stored);
        if (n == 0) /* not in this build */
            continue;
        char *codecs = zs_format("['vlen-utf8',{'name':'%s'}]", names[i]);
        put_text(&s, "'string'", "2", "2", "''", codecs);
        put(&s, "band/c/0", stored, n);
        CHECK_EQ_STR(texts(&s, 0, 2), "red|green");
        stored[n - 1] ^= 1;
        put(&s, "band/c/0", stored, n / 2);
        CHECK_CONTAINS(texts(&s, 0, 2), "corrupt");
        close_store(&s);
        free(codecs);
    }
}

static void test_strings_in_shards(void)
{
    struct geo_store s = {0};
    unsigned char shard[256];
    size_t n = vlen(shard, "red|green");
    const size_t second = vlen(shard + n, "nir|");
    unsigned char *index = shard + n + second;
    memset(index, 0xFF, 48);
    const uint32_t entries[6] = {0, (uint32_t)n, UINT32_MAX, UINT32_MAX, (uint32_t)n, (uint32_t)second};
    for (int i = 0; i < 6; i++)
        if (entries[i] != UINT32_MAX)
            put_le32(index + 8 * i, entries[i]), put_le32(index + 8 * i + 4, 0);
    put_le32(index + 48, zs_crc32c(index, 48));
    const size_t size = n + second + 52;
    put_text(&s, "'string'", "8", "6", "'?'", SHARDS("2", "['vlen-utf8']"));
    put(&s, "band/c/0", shard, size);
    CHECK_EQ_STR(texts(&s, 0, 8), "red|green|?|?|nir||?|?");
    CHECK_EQ_STR(texts(&s, 3, 2), "?|nir");
    put(&s, "band/c/0", shard, size - 1);
    CHECK_CONTAINS(texts(&s, 0, 8), "corrupt");
    put(&s, "band/c/0", shard, 20);
    CHECK_CONTAINS(texts(&s, 0, 8), "corrupt");
    close_store(&s);
    put_text(&s, "'string'", "8", "8", "''", SHARDS("4", SHARDS("2", "['vlen-utf8']")));
    CHECK_EQ_STR(texts(&s, 0, 8), "||||||| (blank)");
    close_store(&s);
}

static void test_texts_in_chunks_of_different_lengths(void)
{
    static const char grid[] = "{'name':'rectilinear','configuration':{'kind':'inline','chunk_shapes':[[1,3,1]]}}";
    struct geo_store s = {0};
    put_text_in(&s, "'string'", "5", grid, "'?'", "['vlen-utf8']");
    put_vlen(&s, "band/c/0", "red");
    put_vlen(&s, "band/c/1", "green||nir");
    check_texts(&s, 0, 5, "red|green||nir|?");
    put_text_in(&s, UTF32(4), "5", grid, "'?'", LITTLE);
    put(&s, "band/c/1", "a\0\0\0b\0\0\0c\0\0", 12);
    check_texts(&s, 0, 5, "?|a|b|c|?");
}

/* ---- Writing ---- */

static enum zs_status give_number(void *ctx, const uint64_t *number, const char **text, struct zs_error *err)
{
    static char digits[24];
    (void)ctx, (void)err;
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number[0]);
    *text = digits;
    return ZS_OK;
}

static void write_numbers(struct geo_store *s, uint64_t start, uint64_t count, uint64_t step)
{
    const struct zs_text_request r = {.ndim = 1, .start = {start}, .count = {count}, .step = {step}};
    struct zs_error err = {""};
    const struct zs_node *node = open_node(s, "band");
    if (!CHECK(zs_texts_write(s->h, node, &r, give_number, NULL, &err) == ZS_OK))
        fprintf(stderr, "%s\n", err.message);
}

static void test_unwritten_texts_stay(void)
{
    static const char *const types[][3] = {{"'string'", "'?'", "['vlen-utf8']"},
                                           {UTF32(8), "'?'", LITTLE},
                                           {UTF32(8), "'?'", BIG},
                                           {"'string'", "'?'", SHARDS("2", "['vlen-utf8','crc32c']")},
                                           {UTF32(8), "'?'", SHARDS("2", BIG)}};
    struct geo_store s = {0};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        put_text(&s, types[i][0], "9", "4", types[i][1], types[i][2]);
        write_numbers(&s, 1, 3, 3);
        CHECK_EQ_STR(texts(&s, 0, 9), "?|0|?|?|1|?|?|2|?");
        write_numbers(&s, 3, 2, 1);
        CHECK_EQ_STR(texts(&s, 0, 9), "?|0|?|0|1|?|?|2|?");
        write_numbers(&s, 0, 9, 1);
        CHECK_EQ_STR(texts(&s, 0, 9), "0|1|2|3|4|5|6|7|8");
        close_store(&s);
    }
}

static enum zs_status give_fill(void *ctx, const uint64_t *number, const char **text, struct zs_error *err)
{
    (void)ctx, (void)number, (void)err;
    *text = "?";
    return ZS_OK;
}

static void test_chunks_of_fill_values_alone_are_not_stored(void)
{
    const struct zs_text_request first = {.ndim = 1, .start = {1}, .count = {1}, .step = {1}};
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_buffer out = {0};
    put_text(&s, "'string'", "4", "2", "'?'", "['vlen-utf8']");
    put_vlen(&s, "band/c/0", "?|red");
    CHECK(zs_texts_write((open_node(&s, ""), s.h), open_node(&s, "band"), &first, give_fill, NULL, &err) == ZS_OK);
    CHECK(zs_store_get(s.store, "band/c/0", 100, &out, &err) == ZS_NOT_FOUND);
    zs_buffer_free(&out);
    check_texts(&s, 0, 4, "?|?|?|? (blank)");
}

static void test_more_texts_than_are_held_are_written_in_parts(void)
{
    struct geo_store s = {0};
    char expected[512] = "";
    put_text(&s, UTF32(2097152), "70", "1", "'-'", "['bytes','gzip']");
    write_numbers(&s, 1, 35, 2); /* 70 MB as they are stored */
    for (int i = 0; i < 35; i++)
        (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s-|%d", i > 0 ? "|" : "", i);
    check_texts(&s, 0, 70, expected);
}

static void test_hostile_counts_and_lengths(void)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {{"", 0},
               {"\2\0\0", 3},
               {"\2\0\0\0", 4},
               {"\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16},
               {"\377\377\377\377", 4},
               {"\2\0\0\0\1\0\0\0a\1\0\0\0", 13},
               {"\2\0\0\0\377\377\377\377a", 9},
               {"\2\0\0\0\0\0\0\0\0\0\0\0x", 13},
               {"\2\0\0\0\0\0\0\0\0\0\0", 11}};
    struct geo_store s = {0};
    put_text(&s, "'string'", "2", "2", "''", "['vlen-utf8']");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(&s, "band/c/0", bad[i].bytes, bad[i].n);
        CHECK_CONTAINS(texts(&s, 0, 2), "corrupt");
    }
    close_store(&s);
    const struct zs_node *node;
    struct zs_error err;
    char **values;
    bool is_blank;
    put_text(&s, "'string'", "18446744073709551615", "18446744073709551615", "''", "['vlen-utf8']");
    node = open_node(&s, "band");
    CHECK(zs_strings_read(s.h, node, 0, UINT64_MAX, &values, &is_blank, &err) == ZS_UNSUPPORTED);
    CHECK(zs_strings_read(s.h, node, UINT64_MAX, 1, &values, &is_blank, &err) == ZS_ARGUMENT);
    CHECK(zs_strings_read(s.h, node, 0, 0, &values, &is_blank, &err) == ZS_ARGUMENT);
    CHECK(zs_strings_read(s.h, node, 0, 2, &values, &is_blank, &err) != ZS_OK); /* the chunk is too large */
    CHECK(zs_strings_read(s.h, open_node(&s, ""), 0, 1, &values, &is_blank, &err) == ZS_ARGUMENT);
    close_store(&s);
    put_text(&s, UTF32(67108864), "100", "1", "''", LITTLE);
    put(&s, "band/c/0", "x", 1);
    CHECK_CONTAINS(texts(&s, 0, 100), "unsupported"); /* a chunk of more than is made of names */
    close_store(&s);
    put_text(&s, UTF32(8), "18446744073709551615", "1", "''", LITTLE);
    CHECK_CONTAINS(texts(&s, 0, 1), "invalid");
    close_store(&s);
    char *fill = malloc(100003);
    memset(fill, 'x', 100002);
    fill[0] = fill[100001] = '\'', fill[100002] = '\0';
    put_text(&s, "'string'", "1000", "1000", fill, "['vlen-utf8']");
    free(fill);
    node = open_node(&s, "band");
    CHECK(zs_strings_read(s.h, node, 0, 1000, &values, &is_blank, &err) == ZS_UNSUPPORTED);
    close_store(&s);
}

static void test_text_gives_labels(void)
{
    struct geo_store s = {0};
    struct zs_error err;
    struct zs_labels l;
    put_text(&s, "'string'", "2", "2", "''", "['vlen-utf8']");
    put_vlen(&s, "band/c/0", "red|nir");
    if (CHECK(zs_labels_read((open_node(&s, ""), s.h), open_node(&s, "a"), 0, 0, 2, &l, &err) == ZS_OK &&
              l.count == 2)) {
        CHECK_EQ_STR(l.values[0], "red");
        CHECK_EQ_STR(l.values[1], "nir");
        CHECK(l.unit == NULL);
    }
    zs_labels_clear(&l);
    CHECK(zs_labels_read((open_node(&s, ""), s.h), open_node(&s, "a"), 0, 1, 1, &l, &err) == ZS_OK && l.count == 1 &&
          strcmp(l.values[0], "nir") == 0);
    zs_labels_clear(&l);
    put(&s, "band/c/0", "x", 1); /* broken */
    CHECK(zs_labels_read((open_node(&s, ""), s.h), open_node(&s, "a"), 0, 0, 2, &l, &err) == ZS_CORRUPT &&
          l.values == NULL && strstr(err.message, "band/c/0") != NULL);
    close_store(&s);
    put_text(&s, "'string'", "2", "2", "'all the same'", "['vlen-utf8']"); /* no chunk */
    CHECK(zs_labels_read((open_node(&s, ""), s.h), open_node(&s, "a"), 0, 0, 2, &l, &err) == ZS_OK && l.values == NULL);
    close_store(&s);
    put_text(&s, "'string'", "2", "2", "''", "['vlen-utf8']");
    put_vlen(&s, "band/c/0", "red|nir");
    put_array(&s, "a", "[3,2,2]", "['band','y','x']", "uint8", "0", "{}"); /* not of this length */
    CHECK(zs_labels_read((open_node(&s, ""), s.h), open_node(&s, "a"), 0, 0, 3, &l, &err) == ZS_OK && l.values == NULL);
    close_store(&s);
}

static void test_an_array_of_text_is_refused_by_name(void)
{
    struct geo_store s = {0};
    struct zs_error err = {""};
    struct zs_array *array;
    put_text(&s, UTF32(8), "2", "2", "''", LITTLE);
    CHECK(zs_array_open_node((open_node(&s, ""), s.h), open_node(&s, "band"), NULL, &array, &err) == ZS_UNSUPPORTED);
    CHECK_CONTAINS(err.message, "fixed_length_utf32");
    CHECK_CONTAINS(err.message, "no GDAL data type");
    close_store(&s);
}

int main(void)
{
    RUN(test_utf8_is_that_of_the_rfc);
    RUN(test_fixed_length_text_in_either_byte_order);
    RUN(test_fixed_length_text_in_shards);
    RUN(test_invalid_text_is_refused);
    RUN(test_invalid_text_types_and_fill_values_are_refused);
    RUN(test_strings_in_chunks);
    RUN(test_strings_behind_codecs);
    RUN(test_strings_in_shards);
    RUN(test_texts_in_chunks_of_different_lengths);
    RUN(test_unwritten_texts_stay);
    RUN(test_chunks_of_fill_values_alone_are_not_stored);
    RUN(test_more_texts_than_are_held_are_written_in_parts);
    RUN(test_hostile_counts_and_lengths);
    RUN(test_text_gives_labels);
    RUN(test_an_array_of_text_is_refused_by_name);
    return check_result();
}
