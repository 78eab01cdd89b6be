/* UTF-8, and how much text names bands. What texts are stored as: gdrivers/test_mdim_strings.py. */
#include "array/array.h"
#include "base/memory.h"
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
    uint32_t read;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(zs_utf8_length(good[i], strlen(good[i])) == strlen(good[i]) &&
              (i == 0 || zs_utf8_get(good[i], strlen(good[i]), &read) == strlen(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(zs_utf8_length(bad[i], strlen(bad[i])) == (bad[i][0] == 'a'));
    char out[4];
    for (uint32_t code = 0; code < 0x111000; code++) {
        const size_t length = zs_utf8_put(code, out);
        const bool is_point = code < 0xD800 || (code > 0xDFFF && code < 0x110000);
        if ((length != 0) != is_point || (is_point && (zs_utf8_get(out, length, &read) != length || read != code)))
            CHECK_EQ_U64(code, UINT32_MAX); /* what is written is read, and only code points are written */
    }
}

TEST(test_lists_of_texts_are_limited)
{
    struct geo_store s = {0};
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
    node = open_node(&s, "band"); /* a chunk of more than is made of names */
    CHECK(zs_strings_read(s.h, node, 0, 100, &values, &is_blank, &err) == ZS_UNSUPPORTED);
    close_store(&s);
    put_text(&s, UTF32(8), "18446744073709551615", "1", "''", LITTLE);
    node = open_node(&s, "band");
    CHECK(zs_strings_read(s.h, node, 0, 1, &values, &is_blank, &err) == ZS_INVALID);
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
