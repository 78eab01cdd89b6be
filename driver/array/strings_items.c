/* The elements in a decoded chunk of text. */
#include <stdlib.h>
#include <string.h>

#include "array/strings_private.h"
#include "base/checked.h"
#include "base/utf8.h"

/* Decoded text is rarely larger than LIKELY_RATIO times its encoded bytes plus LIKELY_BYTES. */
#define LIKELY_RATIO 16
#define LIKELY_BYTES ((size_t)64 << 10)

static const struct zs_level *innermost_level(const struct zs_texts *texts)
{
    return &texts->chain.levels[texts->chain.count - 1];
}

/* Gives decoders room for a likely size first, and for the limit only if that is too little. */
enum zs_status zs_text_decode(const struct zs_level *level, const void *data, size_t n, size_t limit,
                              struct zs_buffer *out, struct zs_error *err)
{
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (scratch == NULL)
        return zs_fail_memory(err);
    const size_t likely = n < limit / LIKELY_RATIO ? LIKELY_RATIO * n + LIKELY_BYTES : limit;
    enum zs_status status = ZS_CORRUPT;
    if (likely < limit)
        status =
            zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, data, n, likely, out, NULL);
    if (status != ZS_OK)
        status =
            zs_bytes_decode_up_to(level->bytes_codecs, level->bytes_codec_count, scratch, data, n, limit, out, err);
    zs_scratch_release(scratch);
    return status;
}

/* Finds the beginning of each element of any length. */
static enum zs_status find_starts(struct zs_text_items *items, struct zs_error *err)
{
    const unsigned char *data = items->bytes.data;
    const size_t n = items->bytes.size;
    const uint32_t found = n >= 4 ? zs_load_le32(data) : 0;
    if (n < 4 || found != items->count)
        return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %llu elements, found %lu",
                       (unsigned long long)items->count, (unsigned long)found);
    if (items->count <= (n - 4) / 4 && (items->starts = zs_calloc(found, sizeof *items->starts)) == NULL)
        return zs_fail_memory(err);
    size_t p = 4;
    for (uint32_t i = 0; i < found; i++) {
        const uint32_t length = n - p >= 4 ? zs_load_le32(data + p) : 0;
        if (items->starts == NULL || n - p < 4 || length > n - p - 4)
            return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": element %lu ends beyond the %zu bytes of its chunk",
                           (unsigned long)i, n);
        items->starts[i] = p;
        p += 4 + (size_t)length;
    }
    if (p != n)
        return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %zu bytes, found %zu", p, n);
    return ZS_OK;
}

static enum zs_status check_size(struct zs_text_items *items, struct zs_error *err)
{
    const size_t item = items->texts->item;
    if (items->bytes.size != innermost_level(items->texts)->stored_size)
        return zs_fail(err, ZS_CORRUPT, "expected %llu bytes of text, found %zu",
                       (unsigned long long)innermost_level(items->texts)->stored_size, items->bytes.size);
    if (items->texts->type != ZS_TEXT_UTF32 || (items->room = malloc(item)) != NULL)
        return ZS_OK;
    return zs_fail_memory(err);
}

enum zs_status zs_text_items_open(const struct zs_texts *texts, const void *data, size_t n, struct zs_text_items *items,
                                  struct zs_error *err)
{
    const struct zs_level *level = innermost_level(texts);
    *items = (struct zs_text_items){.texts = texts, .count = level->decoded_size};
    if (texts->item != 0 && level->stored_size > texts->max_chunk)
        return zs_fail(err, ZS_UNSUPPORTED, "expected chunks of at most %zu bytes of text", texts->max_chunk);
    enum zs_status status = zs_text_decode(
        level, data, n, texts->item != 0 ? (size_t)level->stored_size : texts->max_chunk, &items->bytes, err);
    if (status == ZS_OK)
        status = texts->item != 0 ? check_size(items, err) : find_starts(items, err);
    return status;
}

void zs_text_items_close(struct zs_text_items *items)
{
    zs_buffer_free(&items->bytes);
    free(items->starts);
    free(items->room);
}

static uint32_t load_code(const struct zs_texts *texts, const unsigned char *p)
{
    const uint32_t code = zs_load_le32(p);
    return texts->is_big_endian ? __builtin_bswap32(code) : code;
}

/* Code points up to the last that is not zero. */
static enum zs_status take_code_points(struct zs_text_items *items, const unsigned char *p, size_t *n,
                                       struct zs_error *err)
{
    size_t length = items->texts->item / 4;
    while (length > 0 && load_code(items->texts, p + 4 * (length - 1)) == 0)
        length--;
    *n = 0;
    for (size_t k = 0; k < length; k++) {
        const uint32_t code = load_code(items->texts, p + 4 * k);
        const size_t put = zs_utf8_put(code, items->room + *n); /* at most 4 bytes, as the code has */
        if (put == 0)
            return zs_fail(err, ZS_CORRUPT, "0x%08lx is no code point", (unsigned long)code);
        *n += put;
    }
    return ZS_OK;
}

enum zs_status zs_text_item(struct zs_text_items *items, uint64_t i, const char **text, size_t *n, struct zs_error *err)
{
    const unsigned char *p = items->bytes.data + (items->starts != NULL ? items->starts[i] : i * items->texts->item);
    if (items->starts != NULL) {
        *n = zs_load_le32(p);
        *text = (const char *)p + 4;
    } else if (items->texts->type == ZS_TEXT_UTF32) {
        *text = items->room;
        ZS_TRY(take_code_points(items, p, n, err));
    } else {
        *text = (const char *)p;
        for (*n = items->texts->item; *n > 0 && p[*n - 1] == '\0';)
            --*n;
    }
    if (zs_utf8_check(*text, *n, NULL) && memchr(*text, '\0', *n) == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_CORRUPT, "expected text in UTF-8");
}

/* ---- To be stored ---- */

static enum zs_status append_code(const struct zs_texts *texts, uint32_t code, struct zs_buffer *out,
                                  struct zs_error *err)
{
    unsigned char bytes[4];
    for (int b = 0; b < 4; b++)
        bytes[texts->is_big_endian ? 3 - b : b] = (unsigned char)(code >> (8 * b));
    return zs_buffer_append(out, bytes, sizeof bytes, err);
}

enum zs_status zs_text_items_begin(const struct zs_texts *texts, uint64_t count, struct zs_buffer *out,
                                   struct zs_error *err)
{
    const unsigned char bytes[4] = {(unsigned char)count, (unsigned char)(count >> 8), (unsigned char)(count >> 16),
                                    (unsigned char)(count >> 24)};
    if (texts->item != 0)
        return ZS_OK;
    if (count > UINT32_MAX)
        return zs_fail(err, ZS_UNSUPPORTED, "expected chunks of fewer than 2^32 texts");
    return zs_buffer_append(out, bytes, sizeof bytes, err);
}

/* UTF-8 that was checked. */
static enum zs_status append_code_points(const struct zs_texts *texts, const char *text, size_t n,
                                         struct zs_buffer *out, struct zs_error *err)
{
    for (size_t i = 0; i < n;) {
        const unsigned char first = (unsigned char)text[i++];
        uint32_t code = first < 0x80 ? first : first < 0xE0 ? first & 0x1Fu : first < 0xF0 ? first & 0x0Fu : first & 7u;
        while (i < n && ((unsigned char)text[i] & 0xC0) == 0x80)
            code = code << 6 | ((unsigned char)text[i++] & 0x3Fu);
        ZS_TRY(append_code(texts, code, out, err));
    }
    return ZS_OK;
}

enum zs_status zs_text_item_append(const struct zs_texts *texts, const char *text, size_t n, struct zs_buffer *out,
                                   struct zs_error *err)
{
    const unsigned char size[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                                   (unsigned char)(n >> 24)};
    size_t codes;
    if (!zs_utf8_check(text, n, &codes))
        return zs_fail(err, ZS_ARGUMENT, "expected text in UTF-8");
    const size_t chunks = texts->type == ZS_TEXT_UTF32 ? 4 * codes : n;
    if (texts->item != 0 && chunks > texts->item)
        return zs_fail(err, ZS_ARGUMENT, "\"%.60s\": expected text of at most %zu %s", text,
                       texts->type == ZS_TEXT_UTF32 ? texts->item / 4 : texts->item,
                       texts->type == ZS_TEXT_UTF32 ? "code points" : "bytes");
    if (chunks > texts->max_chunk || out->size > texts->max_chunk - chunks)
        return zs_fail(err, ZS_ARGUMENT, "expected chunks of at most %zu bytes of text, found more", texts->max_chunk);
    const size_t end = out->size + texts->item;
    if (texts->item == 0)
        ZS_TRY(zs_buffer_append(out, size, sizeof size, err));
    if (texts->type == ZS_TEXT_UTF32)
        ZS_TRY(append_code_points(texts, text, n, out, err));
    else
        ZS_TRY(zs_buffer_append(out, text, n, err));
    while (texts->item != 0 && out->size < end)
        ZS_TRY(zs_buffer_append(out, "", 1, err));
    return ZS_OK;
}
