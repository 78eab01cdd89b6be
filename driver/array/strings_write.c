/* Arrays of text, written: `string` with vlen-utf8, which all that read text know. */
#include <stdlib.h>
#include <string.h>

#include "array/strings.h"
#include "base/utf8.h"

zs_json *zs_strings_document(const char *dimension, uint64_t count)
{
    zs_json *doc = zs_json_new_object();
    zs_json_add_int64(doc, "zarr_format", 3);
    zs_json_add_string(doc, "node_type", "array");
    zs_json_add_uint64(zs_json_add_array(doc, "shape"), NULL, count);
    zs_json_add_string(doc, "data_type", "string");
    zs_json *grid = zs_json_add_object(doc, "chunk_grid");
    zs_json_add_string(grid, "name", "regular");
    zs_json *shape = zs_json_add_array(zs_json_add_object(grid, "configuration"), "chunk_shape");
    zs_json_add_uint64(shape, NULL, count > 0 ? count : 1);
    zs_json_add_string(zs_json_add_object(doc, "chunk_key_encoding"), "name", "default");
    zs_json_add_string(doc, "fill_value", "");
    zs_json *codecs = zs_json_add_array(doc, "codecs");
    zs_json *codec = zs_json_add_object(codecs, NULL);
    zs_json_add_string(codec, "name", "vlen-utf8");
    zs_json_add_object(codec, "configuration"); /* which GDAL 3.13 and zarr-python write, too */
    zs_json *names = zs_json_add_array(doc, "dimension_names");
    const zs_json *name =
        dimension != NULL ? zs_json_add_string(names, NULL, dimension) : zs_json_add_null(names, NULL);
    if (shape != NULL && name != NULL && zs_json_add_object(doc, "attributes") != NULL)
        return doc;
    zs_json_free(doc);
    return NULL;
}

static enum zs_status append_size(struct zs_buffer *out, uint64_t n, struct zs_error *err)
{
    const unsigned char bytes[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                                    (unsigned char)(n >> 24)};
    return zs_buffer_append(out, bytes, sizeof bytes, err);
}

static enum zs_status encode(const struct zs_node *node, const char *const *values, uint64_t count,
                             struct zs_buffer *out, struct zs_error *err)
{
    ZS_TRY(append_size(out, count, err));
    for (uint64_t i = 0; i < count; i++) {
        const char *text = values[i] != NULL ? values[i] : "";
        const size_t n = strlen(text);
        if (!zs_utf8_check(text, n, NULL))
            return zs_fail(err, ZS_ARGUMENT, "array /%s: element %llu: expected text in UTF-8", node->path,
                           (unsigned long long)i);
        if (n > ZS_STRINGS_MAX_BYTES || out->size > ZS_STRINGS_MAX_BYTES - n)
            return zs_fail(err, ZS_ARGUMENT, "array /%s: expected at most %zu bytes of text, found more", node->path,
                           ZS_STRINGS_MAX_BYTES);
        ZS_TRY(append_size(out, n, err));
        ZS_TRY(zs_buffer_append(out, text, n, err));
    }
    return ZS_OK;
}

enum zs_status zs_strings_write(struct zs_store *store, const struct zs_node *node, const char *const *values,
                                uint64_t count, struct zs_error *err)
{
    struct zs_buffer encoded = {0};
    char *key = zs_format("%s/c/0", node->path);
    enum zs_status status =
        key != NULL ? encode(node, values, count, &encoded, err) : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a key");
    if (status == ZS_OK)
        status = zs_store_put(store, key, encoded.data, encoded.size, err);
    zs_buffer_free(&encoded);
    free(key);
    return status;
}
