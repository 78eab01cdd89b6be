/* Arrays of text, which name bands: what is stored becomes UTF-8, what cannot be is refused, what is missing is fill
 * value. */
#include "array/array.h"
#include "base/utf8.h"
#include "codec/codec.h"
#include "geo_store.h"

#define UTF32(bytes) "{'name':'fixed_length_utf32','configuration':{'length_bytes':" #bytes "}}"
#define LITTLE "[{'name':'bytes','configuration':{'endian':'little'}}]"

/* An array `t` of text along the dimension `band`, and `a` of (band, y, x), of which it is the coordinate variable. */
static void put_text(struct geo_store *s, const char *type, const char *length, const char *chunk, const char *fill,
                     const char *codecs)
{
    char *text = zs_format("{'zarr_format':3,'node_type':'array','shape':[%s],'dimension_names':['band'],'data_type':%s"
                           ",'fill_value':%s,'chunk_grid':{'name':'regular','configuration':{'chunk_shape':[%s]}},"
                           "'chunk_key_encoding':{'name':'default'},'codecs':%s}",
                           length, type, fill, chunk, codecs);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    put_group(s, "", "{}");
    put_document(s, "band", text);
    char *shape = zs_format("[%s,2,2]", length);
    put_array(s, "a", shape, "['band','y','x']", "uint8", "0", "{}");
    free(shape);
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

TEST(test_utf8_is_that_of_the_rfc)
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

TEST(test_invalid_text_is_refused)
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

TEST(test_hostile_counts_and_lengths)
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
    CHECK(zs_strings_read(s.h, node, UINT64_MAX, 1, &values, &is_blank, &err) != ZS_OK);
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
