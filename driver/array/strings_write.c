/* Writing arrays of text: each call stores its elements, chunk by chunk, shard by shard. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "array/strings_private.h"
#include "shard/writer.h"

zs_json *zs_strings_document(const struct zs_array_spec *spec)
{
    /* as GDAL 3.13 and zarr-python write it */
    static const char vlen[] = "{\"name\": \"vlen-utf8\", \"configuration\": {}}";
    bool any = false;
    zs_json *doc = zs_array_document(spec);
    zs_json *codecs = zs_text_codecs(zs_json_get(doc, "codecs"), "bytes", vlen, &any);
    if (codecs != NULL && zs_json_set(doc, "codecs", codecs) != NULL &&
        zs_json_set_string(doc, "data_type", "string") && zs_json_set_string(doc, "fill_value", ""))
        return doc;
    zs_json_free(doc);
    return NULL;
}

struct writer {
    const struct zs_texts *texts;
    zs_text_give_fn give;
    void *ctx;
    bool expects; /* each object replaces the one that was read: zs_store_has_conditions() */
    /* The object that is written: its key, its position in the grid, the elements in it. */
    const char *key;
    uint64_t at[ZS_MAX_NDIM];
    struct zs_text_part part;
    char **values; /* of the chunk that is written, in stored order: new elements, else NULL */
};

/* ---- One chunk ---- */

static enum zs_status give_element(void *ctx, const uint64_t *number, uint64_t stored, struct zs_error *err)
{
    struct writer *w = ctx;
    const char *text = NULL;
    ZS_TRY(w->give(w->ctx, number, &text, err));
    free(w->values[stored]); /* a step of 0 gives an element again */
    w->values[stored] = zs_strdup(text != NULL ? text : "");
    return w->values[stored] != NULL ? ZS_OK : zs_fail_memory(err);
}

/* Appends all elements of a chunk: the new one, else that of `items`, else the fill value. */
static enum zs_status append_all(struct writer *w, struct zs_text_items *items, uint64_t count, struct zs_buffer *out,
                                 bool *is_empty, struct zs_error *err)
{
    const char *fill = w->texts->fill;
    *is_empty = true;
    ZS_TRY(zs_text_items_begin(w->texts, count, out, err));
    for (uint64_t i = 0; i < count; i++) {
        const char *text = w->values[i] != NULL ? w->values[i] : fill;
        size_t n = strlen(text);
        if (w->values[i] == NULL && items != NULL)
            ZS_TRY(zs_text_item(items, i, &text, &n, err));
        *is_empty = *is_empty && n == strlen(fill) && memcmp(text, fill, n) == 0;
        ZS_TRY(zs_text_item_append(w->texts, text, n, out, err));
    }
    return ZS_OK;
}

/* Encodes a chunk with new elements of a part and what it had before (NULL: nothing was stored). *encoded is memory of
 * `scratch` or of `plain`. */
static enum zs_status encode(struct writer *w, const struct zs_text_part *part, const uint64_t *at,
                             const struct zs_buffer *before, struct zs_scratch *scratch, struct zs_buffer *plain,
                             bool *is_empty, const void **encoded, size_t *n, struct zs_error *err)
{
    const struct zs_level *level = &w->texts->chain.levels[w->texts->chain.count - 1];
    const uint64_t count = level->decoded_size;
    struct zs_text_items items = {0};
    enum zs_status status = ZS_OK;
    if (count > w->texts->max_chunk) /* each takes a byte at least */
        return zs_fail(err, ZS_UNSUPPORTED, "expected chunks of at most %zu bytes of text", w->texts->max_chunk);
    w->values = zs_calloc((size_t)count, sizeof *w->values);
    if (w->values == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_text_each(w->texts, part, at, give_element, w, err);
    if (status == ZS_OK && before != NULL)
        status = zs_text_items_open(w->texts, before->data, before->size, &items, err);
    if (status == ZS_OK)
        status = append_all(w, before != NULL ? &items : NULL, count, plain, is_empty, err);
    if (status == ZS_OK && (!*is_empty || w->expects))
        status = zs_bytes_encode(level->bytes_codecs, level->bytes_codec_count, scratch, plain->data, plain->size,
                                 encoded, n, err);
    zs_text_items_close(&items);
    zs_strings_free(w->values, (size_t)count);
    w->values = NULL;
    return status;
}

/* ---- One object, with its lock held ---- */

static enum zs_status put_chunk(struct writer *w, const struct zs_text_part *part, const uint64_t *at,
                                struct zs_shard_writer *shard, struct zs_error *err)
{
    const struct zs_texts *texts = w->texts;
    struct zs_buffer before = {0}, plain = {0};
    bool is_absent = false, is_empty = false;
    const void *encoded = NULL;
    size_t n = 0;
    uint64_t number = 0;
    char *etag = NULL;
    enum zs_status status;
    if (shard != NULL) {
        number = zs_grid_number_in_shard(&texts->grid, zs_grid_number(&texts->grid, texts->chain.count - 1, at));
        status = zs_shard_writer_get_stored(shard, number, &is_absent, &before, err);
    } else {
        status = zs_store_get_tagged(texts->store, w->key, zs_bytes_bound(texts->max_chunk), &before, &etag, err);
        is_absent = status == ZS_NOT_FOUND;
        status = is_absent ? ZS_OK : status;
    }
    struct zs_scratch *scratch = zs_scratch_acquire();
    if (status == ZS_OK && scratch == NULL)
        status = zs_fail_memory(err);
    if (status == ZS_OK)
        status = encode(w, part, at, is_absent ? NULL : &before, scratch, &plain, &is_empty, &encoded, &n, err);
    if (status == ZS_OK && shard != NULL)
        status = zs_shard_writer_put(shard, number, is_empty ? NULL : encoded, n, err);
    else if (status == ZS_OK && is_empty && !w->expects)
        status = zs_store_remove(texts->store, w->key, err);
    else if (status == ZS_OK && !(is_empty && is_absent))
        status = zs_store_put_over(texts->store, w->key, w->expects ? etag : NULL, encoded, n, err);
    free(etag);
    zs_scratch_release(scratch);
    zs_buffer_free(&before);
    zs_buffer_free(&plain);
    return status;
}

static enum zs_status put_shard(struct writer *w, struct zs_error *err)
{
    const struct zs_texts *texts = w->texts;
    struct zs_object *object = NULL;
    struct zs_shard_writer *shard = NULL;
    struct zs_text_part part;
    uint64_t at[ZS_MAX_NDIM] = {0};
    bool is_lost;
    enum zs_status status = zs_object_open(texts->store, w->key, &object, err);
    if (status == ZS_NOT_FOUND)
        status = ZS_OK;
    if (status == ZS_OK)
        status = zs_shard_writer_create(texts->store, w->key, texts->chain.levels, ZS_ORDER_ROW_MAJOR, NULL, object,
                                        &shard, err);
    for (bool first = true; status == ZS_OK && zs_text_next(texts, texts->chain.count - 1, &w->part, first, &part, at);
         first = false)
        status = put_chunk(w, &part, at, shard, err);
    if (status == ZS_OK)
        status = zs_shard_writer_publish(shard, ZS_UPDATE_REWRITE, w->expects, &is_lost, err);
    if (shard != NULL && zs_object_is_overtaken(zs_shard_writer_object(shard), status))
        status = ZS_CONFLICT;
    zs_shard_writer_free(shard);
    return status;
}

static enum zs_status put_again(void *ctx, struct zs_error *err)
{
    struct writer *w = ctx;
    return w->texts->chain.count > 1 ? put_shard(w, err) : put_chunk(w, &w->part, w->at, NULL, err);
}

static enum zs_status put_object(struct writer *w, struct zs_error *err)
{
    const struct zs_texts *texts = w->texts;
    char *key = zs_chunk_key(texts->bytes->array, texts->node->path, w->at);
    if (key == NULL)
        return zs_fail_memory(err);
    w->key = key;
    enum zs_status status = zs_store_replace(texts->store, key, put_again, w, err);
    if (status != ZS_OK)
        status = zs_fail_in(err, status, "%s/%s", texts->store->root, key);
    free(key);
    return status;
}

enum zs_status zs_texts_write(struct zs_hierarchy *h, const struct zs_node *node, const struct zs_text_request *request,
                              zs_text_give_fn give, void *ctx, struct zs_error *err)
{
    struct zs_text_part all;
    struct zs_texts t;
    uint64_t version = 0;
    if (node->is_draft)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: arrays of the draft of 2022 are only read", node->path);
    ZS_TRY(zs_text_check(node, request, &all, err));
    ZS_TRY(zs_hierarchy_check_array(h, node, &version, err));
    ZS_TRY(zs_texts_open(zs_hierarchy_store(h), node,
                         request->max_chunk != 0 ? request->max_chunk : ZS_STRINGS_MAX_BYTES, &t, err));
    struct writer w = {.texts = &t, .give = give, .ctx = ctx, .expects = zs_store_has_conditions(t.store)};
    enum zs_status status = ZS_OK;
    for (bool first = true; status == ZS_OK && zs_text_next(&t, 0, &all, first, &w.part, w.at); first = false)
        status = put_object(&w, err);
    zs_texts_close(&t);
    return status;
}
