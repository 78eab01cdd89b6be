/* Arrays of text, opened, and walked chunk by chunk. */
#include "array/strings_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/utf8.h"

/* ---- The array of bytes ---- */

zs_json *zs_text_codecs(const zs_json *codecs, const char *from, const char *to, bool *any)
{
    zs_json *out = zs_json_new_array();
    bool ok = out != NULL && zs_json_is_array(codecs);
    for (const zs_json *c = zs_json_first(codecs); c != NULL && ok; c = zs_json_next(c)) {
        const zs_json *configuration;
        const char *name = zs_extension_name(c, &configuration);
        const bool is_from = name != NULL && strcmp(name, from) == 0;
        zs_json *copy = is_from ? zs_json_add_raw(out, NULL, to) : zs_json_add(out, NULL, zs_json_copy(c));
        *any = *any || is_from;
        ok = copy != NULL;
        if (!ok || name == NULL || strcmp(name, "sharding_indexed") != 0)
            continue;
        zs_json *inner = zs_text_codecs(zs_json_get(configuration, "codecs"), from, to, any);
        ok = inner != NULL && zs_json_set(zs_json_get_mutable(copy, "configuration"), "codecs", inner) != NULL;
    }
    if (ok)
        return out;
    zs_json_free(out);
    return NULL;
}

/* Whether the codec "bytes" of an innermost chunk puts the first byte of a number last. */
static bool find_big_endian(const zs_json *codecs)
{
    bool is_big = false;
    for (const zs_json *c = zs_json_first(codecs); c != NULL; c = zs_json_next(c)) {
        const zs_json *configuration;
        const char *name = zs_extension_name(c, &configuration);
        if (name != NULL && strcmp(name, "bytes") == 0)
            is_big = zs_json_equals(zs_json_get(configuration, "endian"), "big");
        else if (name != NULL && strcmp(name, "sharding_indexed") == 0)
            is_big = find_big_endian(zs_json_get(configuration, "codecs"));
    }
    return is_big;
}

/* The document of the array of bytes: its codecs are those of text, with "bytes" for vlen-utf8 (*has_vlen: there was
 * one). NULL when there is none. */
static zs_json *document_of_bytes(const zs_json *document, bool *has_vlen)
{
    zs_json *out = zs_json_copy(document);
    zs_json *codecs = zs_text_codecs(zs_json_get(document, "codecs"), "vlen-utf8", "\"bytes\"", has_vlen);
    if (out != NULL && codecs != NULL) {
        zs_json_remove(out, "data_type");
        zs_json_remove(out, "fill_value");
        if (zs_json_set(out, "codecs", codecs) != NULL && zs_json_add_string(out, "data_type", "uint8") != NULL &&
            zs_json_add_uint64(out, "fill_value", 0) != NULL)
            return out;
        codecs = NULL;
    }
    zs_json_free(codecs);
    zs_json_free(out);
    return NULL;
}

/* Refuses codecs that change numbers: the bytes of text are none. */
static enum zs_status check_codecs(const struct zs_chain *chain, struct zs_error *err)
{
    const struct zs_level *level = &chain->levels[chain->count - 1];
    for (int i = 0; i < level->stage_count; i++)
        if (strcmp(level->stages[i].codec->name, "bytes") != 0)
            return zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" of text is not supported", level->stages[i].codec->name);
    return ZS_OK;
}

/* Sets the sizes of chunks in bytes, which have as many elements as those of the array of bytes. False where they do
 * not fit 64 bits. */
static bool scale_sizes(struct zs_texts *texts)
{
    uint64_t all;
    const struct zs_array_meta *meta = texts->bytes->array;
    struct zs_level *levels = texts->chain.levels;
    const int innermost = texts->chain.count - 1;
    if (texts->item != 0 && (!zs_product_u64(meta->shape, meta->ndim, &all) || !zs_mul_u64(all, texts->item, &all) ||
                             !zs_mul_u64(levels[innermost].decoded_size, texts->item, &levels[innermost].stored_size)))
        return false;
    if (texts->item == 0)
        levels[innermost].stored_size = texts->max_chunk;
    for (int k = innermost; k-- > 0;)
        if (!zs_mul_u64(levels[k].inner_count, levels[k + 1].stored_size, &levels[k].stored_size))
            levels[k].stored_size = UINT64_MAX; /* bounds nothing */
    for (int k = innermost; k-- > 0 && texts->item == 0;)
        levels[k].stored_size = texts->max_chunk; /* what bounds one chunk times many is no bound */
    return true;
}

static enum zs_status compile(struct zs_texts *texts, struct zs_error *err)
{
    if (texts->bytes->array == NULL)
        return zs_fail(err, texts->bytes->array_status, "%s", texts->bytes->array_error->message); /* with its path */
    texts->bytes->array->is_draft = texts->node->is_draft;
    enum zs_status status = zs_chain_compile(texts->bytes->array, &texts->chain, err);
    if (status == ZS_OK)
        status = check_codecs(&texts->chain, err);
    if (status == ZS_OK)
        status = zs_grid_init(&texts->grid, texts->bytes->array, &texts->chain, err);
    if (status == ZS_OK && !scale_sizes(texts))
        status = zs_fail(err, ZS_INVALID, "expected text of fewer than 2^64 bytes");
    return status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s", texts->node->key);
}

/* ---- Its fill value ---- */

static enum zs_status take_fill(struct zs_texts *texts, struct zs_error *err)
{
    const zs_json *fill = zs_json_get(texts->node->document, "fill_value");
    const char *text = "";
    if (zs_json_typeof(fill) != ZS_JSON_NULL && !zs_json_string(fill, &text))
        return zs_fail(err, ZS_INVALID, "%s: fill_value: expected a string", texts->node->key);
    size_t n = strlen(text), codes;
    texts->fill = zs_calloc(n + 1, 1);
    if (texts->fill == NULL)
        return zs_fail_memory(err);
    memcpy(texts->fill, text, n);
    if (texts->type == ZS_TEXT_BYTES) { /* in base64 */
        memset(texts->fill, 0, n);
        const long bytes = zs_base64_decode(text, texts->fill, n);
        if (bytes < 0)
            return zs_fail(err, ZS_UNSUPPORTED, "%s: fill_value: expected base64", texts->node->key);
        for (n = (size_t)bytes; n > 0 && texts->fill[n - 1] == '\0';)
            n--;
    }
    if (!zs_utf8_check(texts->fill, n, &codes) || strlen(texts->fill) != n)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: fill_value: expected text in UTF-8", texts->node->key);
    if (texts->item != 0 && (texts->type == ZS_TEXT_UTF32 ? codes > texts->item / 4 : n > texts->item))
        return zs_fail(err, ZS_INVALID, "%s: fill_value: expected text of at most %zu bytes", texts->node->key,
                       texts->item);
    return ZS_OK;
}

/* ---- Opening ---- */

static enum zs_status take_type(struct zs_texts *texts, struct zs_error *err)
{
    uint64_t chunks = 0, bytes;
    texts->type = zs_text_type_of(zs_json_get(texts->node->document, "data_type"), &chunks);
    if (texts->type == ZS_TEXT_UTF8)
        return ZS_OK;
    if (chunks == 0)
        return zs_fail(err, ZS_INVALID,
                       "%s: data_type of text: expected a positive number (of UTF-32, a multiple of 4) as length_bytes",
                       texts->node->key);
    if (!zs_mul_u64(chunks, texts->type == ZS_TEXT_UTF32 ? 4 : 1, &bytes) || bytes > SIZE_MAX / 4)
        return zs_fail(err, ZS_INVALID, "%s: data_type of text: the length_bytes are too many", texts->node->key);
    texts->item = (size_t)bytes;
    return ZS_OK;
}

static enum zs_status open_texts(struct zs_texts *texts, struct zs_error *err)
{
    bool has_vlen = false;
    if (!texts->node->is_text)
        return zs_fail(err, ZS_ARGUMENT, "%s: expected an array of text", texts->node->key);
    ZS_TRY(take_type(texts, err));
    ZS_TRY(take_fill(texts, err));
    const char *grid = zs_extension_name(zs_json_get(texts->node->document, "chunk_grid"), NULL);
    if (grid != NULL && strcmp(grid, "regular") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: text in a chunk grid \"%.60s\" is not supported", texts->node->key,
                       grid);
    texts->is_big_endian = find_big_endian(zs_json_get(texts->node->document, "codecs"));
    zs_json *document = document_of_bytes(texts->node->document, &has_vlen);
    if (document == NULL || has_vlen != (texts->type == ZS_TEXT_UTF8)) {
        zs_json_free(document);
        return zs_fail(err, ZS_INVALID, "%s: codecs: expected vlen-utf8 for strings and only for them",
                       texts->node->key);
    }
    ZS_TRY(zs_node_create_at(texts->node->path, texts->node->key, document, true, &texts->bytes, err));
    return compile(texts, err);
}

enum zs_status zs_texts_open(struct zs_store *store, const struct zs_node *node, size_t max_chunk,
                             struct zs_texts *texts, struct zs_error *err)
{
    memset(texts, 0, sizeof *texts);
    texts->store = store;
    texts->node = node;
    texts->max_chunk = max_chunk;
    const enum zs_status status = open_texts(texts, err);
    if (status != ZS_OK)
        zs_texts_close(texts);
    return status;
}

void zs_texts_close(struct zs_texts *texts)
{
    zs_chain_clear(&texts->chain);
    zs_node_free(texts->bytes);
    free(texts->fill);
}

/* ---- Its chunks ---- */

static uint64_t element_of(const struct zs_text_request *r, int d, uint64_t number)
{
    return r->start[d] + number * r->step[d];
}

/* Sets dimension d of a part to the elements from `number` on that lie in one chunk. */
static void take_span(const struct zs_texts *texts, int k, const struct zs_text_part *whole, int d, uint64_t number,
                      struct zs_text_part *part, uint64_t *at)
{
    const struct zs_text_request *r = whole->all;
    at[d] = zs_grid_find(&texts->grid, k, d, element_of(r, d, number));
    const struct zs_span span = zs_grid_span(&texts->grid, k, d, at[d]);
    const uint64_t last = span.start + span.length - 1 - element_of(r, d, number);
    const uint64_t more = r->step[d] == 0 ? UINT64_MAX - number - 1 : last / r->step[d];
    part->from[d] = number;
    part->to[d] = more >= whole->to[d] - number ? whole->to[d] : number + more + 1;
}

bool zs_text_next(const struct zs_texts *texts, int k, const struct zs_text_part *whole, bool is_first,
                  struct zs_text_part *part, uint64_t *at)
{
    const int ndim = texts->grid.ndim;
    int d = ndim - 1;
    if (is_first) {
        part->all = whole->all;
        for (int e = 0; e < ndim; e++) {
            if (whole->from[e] >= whole->to[e])
                return false;
            take_span(texts, k, whole, e, whole->from[e], part, at);
        }
        return true;
    }
    while (d >= 0 && part->to[d] == whole->to[d]) {
        take_span(texts, k, whole, d, whole->from[d], part, at);
        d--;
    }
    if (d < 0)
        return false;
    take_span(texts, k, whole, d, part->to[d], part, at);
    return true;
}

enum zs_status zs_text_each(const struct zs_texts *texts, const struct zs_text_part *part, const uint64_t *at,
                            zs_text_each_fn f, void *ctx, struct zs_error *err)
{
    const int ndim = texts->grid.ndim, k = texts->chain.count - 1;
    const struct zs_level *level = &texts->chain.levels[k];
    uint64_t number[ZS_MAX_NDIM] = {0};
    memcpy(number, part->from, (size_t)ndim * sizeof *number);
    for (;;) {
        uint64_t stored = 0;
        for (int j = 0; j < ndim; j++) {
            const int d = level->axis[j];
            const uint64_t start = zs_grid_span(&texts->grid, k, d, at[d]).start;
            stored = stored * level->shape[d] + element_of(part->all, d, number[d]) - start;
        }
        ZS_TRY(f(ctx, number, stored, err));
        int d = ndim - 1;
        while (d >= 0 && ++number[d] == part->to[d]) {
            number[d] = part->from[d];
            d--;
        }
        if (d < 0)
            return ZS_OK;
    }
}
