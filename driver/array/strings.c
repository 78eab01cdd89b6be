#include "array/strings.h"

#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "array/grid.h"
#include "array/indexes.h"
#include "base/checked.h"
#include "base/utf8.h"
#include "shard/index.h"

/* Arrays of text are read as arrays of the numbers they are made of: of code points, where a missing one is this, which
 * is none; or of bytes, with codecs that are known but for vlen-utf8. */
#define MISSING UINT32_MAX

struct reader {
    struct zs_store *store;
    const struct zs_node *node;
    const char *fill;
    uint64_t first, count;
    char **values;
    size_t total; /* bytes of all values */
    bool is_blank;
};

bool zs_strings_length(const struct zs_node *node, uint64_t *length)
{
    const zs_json *shape = node->is_text ? zs_json_get(node->document, "shape") : NULL;
    return zs_json_is_array(shape) && zs_json_size(shape) == 1 && zs_json_uint64(zs_json_first(shape), length);
}

void zs_strings_free(char **values, size_t count)
{
    for (size_t i = 0; i < count && values != NULL; i++)
        free(values[i]);
    free(values);
}

/* Takes n bytes of UTF-8 as element i of the array; elements that were not asked for are only looked at. */
static enum zs_status take_text(struct reader *r, uint64_t i, const char *text, size_t n, struct zs_error *err)
{
    if (!zs_utf8_check(text, n, NULL) || memchr(text, '\0', n) != NULL)
        return zs_fail(err, ZS_CORRUPT, "element %llu: expected text in UTF-8", (unsigned long long)i);
    if (i < r->first || i - r->first >= r->count)
        return ZS_OK;
    if (n > ZS_STRINGS_MAX_BYTES - r->total)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu bytes of text", ZS_STRINGS_MAX_BYTES);
    char **value = &r->values[i - r->first];
    *value = zs_strndup(text, n);
    if (*value == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "no memory for text");
    r->total += n;
    return ZS_OK;
}

/* ---- The array of numbers ---- */

/* Multiplies the only size of the list `name` of an object. False when it is not one size, or does not fit. */
static bool scale_size(zs_json *object, const char *name, uint64_t units)
{
    const zs_json *list = zs_json_get(object, name);
    uint64_t size;
    if (zs_json_size(list) != 1 || !zs_json_uint64(zs_json_first(list), &size) || !zs_mul_u64(size, units, &size))
        return false;
    zs_json *scaled = zs_json_new_array();
    if (zs_json_add_uint64(scaled, NULL, size) == NULL) {
        zs_json_free(scaled);
        return false;
    }
    return zs_json_set(object, name, scaled) != NULL;
}

/* The codecs of text as those of numbers: chunks are `units` as long, and vlen-utf8 is called bytes (*found tells that
 * it was there). NULL when they cannot be. Documents are no deeper than zarr/json.h lets them be. */
static zs_json *codecs_of_numbers(const zs_json *codecs, uint64_t units, bool *found)
{
    zs_json *out = zs_json_new_array();
    bool ok = out != NULL && zs_json_is_array(codecs);
    for (const zs_json *c = zs_json_first(codecs); c != NULL && ok; c = zs_json_next(c)) {
        const zs_json *configuration;
        const char *name = zs_extension_name(c, &configuration);
        if (name != NULL && strcmp(name, "vlen-utf8") == 0) {
            *found = true;
            ok = zs_json_add_string(out, NULL, "bytes") != NULL;
            continue;
        }
        zs_json *copy = zs_json_add(out, NULL, zs_json_copy(c));
        ok = copy != NULL;
        if (!ok || name == NULL || strcmp(name, "sharding_indexed") != 0)
            continue;
        zs_json *own = zs_json_get_mutable(copy, "configuration");
        zs_json *inner = codecs_of_numbers(zs_json_get(configuration, "codecs"), units, found);
        ok = inner != NULL && zs_json_set(own, "codecs", inner) != NULL && scale_size(own, "chunk_shape", units);
    }
    if (ok)
        return out;
    zs_json_free(out);
    return NULL;
}

/* The document of the array of `type`, of `units` numbers for each text. NULL when there is none. */
static zs_json *document_of_numbers(const zs_json *document, enum zs_data_type type, uint64_t units, bool *found)
{
    const struct zs_dtype dtype = zs_dtype_of(type);
    const uint32_t missing = MISSING;
    const uint8_t zero = 0;
    zs_json *out = zs_json_copy(document);
    zs_json *grid = zs_json_get_mutable(zs_json_get_mutable(out, "chunk_grid"), "configuration");
    zs_json *codecs = codecs_of_numbers(zs_json_get(document, "codecs"), units, found);
    bool ok =
        codecs != NULL && out != NULL && scale_size(out, "shape", units) && scale_size(grid, "chunk_shape", units);
    if (ok) {
        zs_json_remove(out, "data_type");
        zs_json_remove(out, "fill_value");
        ok = zs_json_set(out, "codecs", codecs) != NULL && zs_json_add_string(out, "data_type", dtype.name) != NULL &&
             zs_fill_value_add(out, "fill_value", &dtype, type == ZS_UINT32 ? (const void *)&missing : &zero) != NULL;
        codecs = NULL;
    }
    zs_json_free(codecs);
    if (ok)
        return out;
    zs_json_free(out);
    return NULL;
}

/* ---- fixed_length_utf32 ---- */

/* One element: code points up to the first zero, behind which there are only more. */
static enum zs_status take_code_points(struct reader *r, uint64_t i, const uint32_t *codes, size_t units, char *buffer,
                                       struct zs_error *err)
{
    size_t length = units, n = 0;
    while (length > 0 && codes[length - 1] == 0)
        length--;
    for (size_t k = 0; k < length; k++) {
        const size_t put = zs_utf8_put(codes[k], buffer + n);
        if (put == 0)
            return zs_fail(err, ZS_CORRUPT, "element %llu: 0x%08x is no code point", (unsigned long long)i,
                           (unsigned)codes[k]);
        n += put;
    }
    return take_text(r, i, buffer, n, err);
}

static enum zs_status take_all_code_points(struct reader *r, const uint32_t *codes, size_t units, struct zs_error *err)
{
    char *buffer = zs_calloc(units, 4);
    if (buffer == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "no memory for text");
    enum zs_status status = ZS_OK;
    for (uint64_t i = 0; i < r->count && status == ZS_OK; i++) {
        const uint32_t *element = codes + i * units;
        if (element[0] == MISSING) {
            status = take_text(r, r->first + i, r->fill, strlen(r->fill), err);
        } else {
            status = take_code_points(r, r->first + i, element, units, buffer, err);
            r->is_blank = false;
        }
    }
    free(buffer);
    return status;
}

static enum zs_status read_utf32(struct reader *r, const struct zs_node *numbers, uint64_t units, struct zs_error *err)
{
    uint64_t start, n, bytes;
    size_t length;
    if (!zs_mul_u64(r->first, units, &start) || !zs_mul_u64(r->count, units, &n) || !zs_mul_u64(n, 4, &bytes) ||
        bytes > ZS_STRINGS_MAX_BYTES)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %zu bytes of text", r->node->path,
                       ZS_STRINGS_MAX_BYTES);
    if (!zs_utf8_check(r->fill, strlen(r->fill), &length) || length > units)
        return zs_fail(err, ZS_INVALID, "%s: fill_value: expected text of at most %llu code points", r->node->key,
                       (unsigned long long)units);
    uint32_t *codes = zs_calloc((size_t)n, sizeof *codes);
    if (codes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "no memory for text");
    struct zs_array *array = NULL;
    const struct zs_array_options options = {.threads = 1, .cache_bytes = (uint64_t)1 << 20};
    enum zs_status status = zs_array_open_in(r->store, numbers, &options, &array, err);
    if (status == ZS_OK)
        status = zs_array_read(array, &start, &n, codes, err);
    zs_array_close(array);
    if (status == ZS_OK && (status = take_all_code_points(r, codes, (size_t)units, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s/%s", r->store->root, r->node->path);
    free(codes);
    return status;
}

/* ---- null_terminated_bytes ---- */

/* Its fill value is base64. Any but the empty text could not be told from a text that is stored. */
static enum zs_status check_empty_fill(const struct reader *r, struct zs_error *err)
{
    unsigned char bytes[256];
    const long n = zs_base64_decode(r->fill, bytes, sizeof bytes);
    for (long i = 0; i < n; i++)
        if (bytes[i] != 0)
            return zs_fail(err, ZS_UNSUPPORTED, "%s: fill_value: of bytes only the empty text is supported",
                           r->node->key);
    return n >= 0 ? ZS_OK : zs_fail(err, ZS_UNSUPPORTED, "%s: fill_value: expected base64 of zeros", r->node->key);
}

static enum zs_status read_bytes(struct reader *r, const struct zs_node *numbers, uint64_t units, struct zs_error *err)
{
    uint64_t start, n;
    ZS_TRY(check_empty_fill(r, err));
    if (!zs_mul_u64(r->first, units, &start) || !zs_mul_u64(r->count, units, &n) || n > ZS_STRINGS_MAX_BYTES)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %zu bytes of text", r->node->path,
                       ZS_STRINGS_MAX_BYTES);
    char *bytes = zs_calloc((size_t)n, 1);
    if (bytes == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "no memory for text");
    struct zs_array *array = NULL;
    const struct zs_array_options options = {.threads = 1, .cache_bytes = (uint64_t)1 << 20};
    enum zs_status status = zs_array_open_in(r->store, numbers, &options, &array, err);
    if (status == ZS_OK)
        status = zs_array_read(array, &start, &n, bytes, err);
    zs_array_close(array);
    const bool is_read = status == ZS_OK;
    for (uint64_t i = 0; i < r->count && status == ZS_OK; i++) {
        const char *text = bytes + i * units;
        size_t length = (size_t)units;
        while (length > 0 && text[length - 1] == '\0')
            length--;
        r->is_blank = r->is_blank && length == 0;
        status = take_text(r, r->first + i, text, length, err);
    }
    free(bytes);
    return is_read && status != ZS_OK ? zs_fail_in(err, status, "%s/%s", r->store->root, r->node->path) : status;
}

/* ---- string ---- */

/* The `expected` elements of one chunk, of which the first is number `at`. */
static enum zs_status take_items(struct reader *r, uint64_t at, uint64_t expected, const unsigned char *data, size_t n,
                                 struct zs_error *err)
{
    const uint32_t found = n >= 4 ? zs_load_le32(data) : 0;
    if (n < 4 || found != expected)
        return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %llu elements, found %lu",
                       (unsigned long long)expected, (unsigned long)found);
    size_t p = 4;
    for (uint64_t i = 0; i < expected; i++) {
        const uint32_t length = n - p >= 4 ? zs_load_le32(data + p) : 0;
        if (n - p < 4 || length > n - p - 4)
            return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": element %llu ends beyond the %zu bytes of its chunk",
                           (unsigned long long)i, n);
        ZS_TRY(take_text(r, at + i, (const char *)data + p + 4, length, err));
        p += 4 + (size_t)length;
    }
    if (p != n)
        return zs_fail(err, ZS_CORRUPT, "codec \"vlen-utf8\": expected %zu bytes, found %zu", p, n);
    r->is_blank = false;
    return ZS_OK;
}

/* Decodes one stored leaf chunk, the first element of which is number `at`. */
static enum zs_status take_chunk(struct reader *r, const struct zs_level *leaf, uint64_t at, const void *data, size_t n,
                                 struct zs_error *err)
{
    struct zs_scratch *scratch = zs_scratch_acquire();
    struct zs_buffer decoded = {0};
    enum zs_status status =
        scratch == NULL ? zs_fail(err, ZS_NO_MEMORY, "no memory to decode text")
                        : zs_bytes_decode_up_to(leaf->bytes_codecs, leaf->bytes_codec_count, scratch, data, n,
                                                ZS_STRINGS_MAX_BYTES, &decoded, err);
    if (status == ZS_OK)
        status = take_items(r, at, leaf->shape[0], decoded.data, decoded.size, err);
    zs_buffer_free(&decoded);
    zs_scratch_release(scratch);
    return status;
}

static enum zs_status read_index(const struct zs_level *level, struct zs_object *object, struct zs_shard_index **index,
                                 struct zs_error *err)
{
    const struct zs_source src = {.object = object, .size = zs_object_size(object), .version = object->version};
    uint64_t at;
    ZS_TRY(zs_shard_index_offset(level, src.size, &at, err));
    if (level->index_size > ZS_STRINGS_MAX_BYTES)
        return zs_fail(err, ZS_UNSUPPORTED, "shard index: expected at most %zu bytes", ZS_STRINGS_MAX_BYTES);
    return zs_index_read(level, &src, index, err);
}

/* The chunks of one opened shard, number `i` of the grid. */
static enum zs_status take_shard(struct reader *r, const struct zs_grid *grid, struct zs_object *object, uint64_t i,
                                 struct zs_error *err)
{
    const struct zs_level *shard = &grid->chain->levels[0], *leaf = &grid->chain->levels[1];
    struct zs_shard_index *index;
    struct zs_buffer data = {0};
    ZS_TRY(read_index(shard, object, &index, err));
    enum zs_status status = ZS_OK;
    const struct zs_span all = zs_grid_span(grid, 0, 0, i);
    const uint64_t first = zs_max_u64(r->first, all.start),
                   end = zs_min_u64(r->first + r->count, all.start + all.length);
    const uint64_t before = zs_grid_find(grid, 1, 0, all.start), last = zs_grid_find(grid, 1, 0, end - 1);
    for (uint64_t c = zs_grid_find(grid, 1, 0, first); c <= last && status == ZS_OK; c++) {
        bool is_empty;
        uint64_t offset, size;
        status = zs_shard_index_entry(shard, index, c - before, &is_empty, &offset, &size, err);
        if (status != ZS_OK || is_empty)
            continue;
        if (size > ZS_STRINGS_MAX_BYTES)
            status = zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu bytes of text", ZS_STRINGS_MAX_BYTES);
        if (status == ZS_OK)
            status = zs_buffer_reset(&data, (size_t)size, err);
        if (status == ZS_OK)
            status = zs_object_read(object, offset, (size_t)size, data.data, err);
        if (status == ZS_OK)
            status = take_chunk(r, leaf, zs_grid_span(grid, 1, 0, c).start, data.data, (size_t)size, err);
    }
    zs_buffer_free(&data);
    free(index);
    return status;
}

/* The stored object number `i` of the grid; its absence is no failure. */
static enum zs_status take_object(struct reader *r, const struct zs_grid *grid, uint64_t i, struct zs_error *err)
{
    const bool is_sharded = grid->chain->count > 1;
    char *key = zs_chunk_key(grid->meta, r->node->path, &i);
    if (key == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a chunk key");
    struct zs_object *object = NULL;
    struct zs_buffer data = {0};
    enum zs_status status = is_sharded ? zs_object_open(r->store, key, &object, err)
                                       : zs_store_get(r->store, key, ZS_STRINGS_MAX_BYTES, &data, err);
    if (status == ZS_OK)
        status = is_sharded ? take_shard(r, grid, object, i, err)
                            : take_chunk(r, &grid->chain->levels[0], zs_grid_span(grid, 0, 0, i).start, data.data,
                                         data.size, err);
    else if (status == ZS_NOT_FOUND)
        status = ZS_OK;
    zs_object_close(object);
    zs_buffer_free(&data);
    status = status == ZS_OK ? ZS_OK : zs_fail_in(err, status, "%s/%s", r->store->root, key);
    free(key);
    return status;
}

static enum zs_status read_utf8(struct reader *r, const struct zs_array_meta *meta, struct zs_error *err)
{
    struct zs_chain chain;
    struct zs_grid grid;
    enum zs_status status = zs_chain_compile(meta, &chain, err);
    if (status == ZS_OK && (status = zs_grid_init(&grid, meta, &chain, err)) != ZS_OK)
        zs_chain_clear(&chain);
    if (status != ZS_OK)
        return zs_fail_in(err, status, "%s", r->node->key);
    if (chain.count > 2 || (chain.count == 2 && chain.levels[0].bytes_codec_count > 0))
        status = zs_fail(err, ZS_UNSUPPORTED, "%s: text in shards that are in shards or compressed is not supported",
                         r->node->path);
    const uint64_t last = zs_grid_find(&grid, 0, 0, r->first + r->count - 1);
    for (uint64_t i = zs_grid_find(&grid, 0, 0, r->first); i <= last && status == ZS_OK; i++)
        status = take_object(r, &grid, i, err);
    zs_chain_clear(&chain);
    for (uint64_t i = 0; i < r->count && status == ZS_OK; i++)
        if (r->values[i] == NULL)
            status = take_text(r, r->first + i, r->fill, strlen(r->fill), err);
    return status;
}

/* ---- Both ---- */

/* What codecs do to numbers, or to their bits, is not meant for those that we take text for. */
static enum zs_status check_codecs(const struct zs_array_meta *meta, struct zs_error *err)
{
    struct zs_chain chain;
    ZS_TRY(zs_chain_compile(meta, &chain, err));
    const struct zs_level *leaf = &chain.levels[chain.count - 1];
    enum zs_status status = ZS_OK;
    for (int i = 0; i < leaf->stage_count && status == ZS_OK; i++)
        if (strcmp(leaf->stages[i].codec->name, "bytes") != 0)
            status = zs_fail(err, ZS_UNSUPPORTED, "codec \"%s\" of text is not supported", leaf->stages[i].codec->name);
    zs_chain_clear(&chain);
    return status;
}

static enum zs_status read_all(struct reader *r, struct zs_error *err)
{
    uint64_t units;
    bool has_vlen = false;
    const enum zs_text_type type = zs_text_type_of(zs_json_get(r->node->document, "data_type"), &units);
    if (type == ZS_TEXT_UTF8)
        units = 1;
    if (units == 0)
        return zs_fail(err, ZS_INVALID,
                       "%s: data_type of text: expected a positive number (of UTF-32, a multiple of 4) as length_bytes",
                       r->node->key);
    const zs_json *fill = zs_json_get(r->node->document, "fill_value");
    r->fill = "";
    if (zs_json_typeof(fill) != ZS_JSON_NULL && !zs_json_string(fill, &r->fill))
        return zs_fail(err, ZS_INVALID, "%s: fill_value: expected a string", r->node->key);
    const char *grid = zs_extension_name(zs_json_get(r->node->document, "chunk_grid"), NULL);
    if (grid != NULL && strcmp(grid, "regular") != 0)
        return zs_fail(err, ZS_UNSUPPORTED, "%s: text in a chunk grid \"%.60s\" is not supported", r->node->key, grid);
    zs_json *document =
        document_of_numbers(r->node->document, type == ZS_TEXT_UTF32 ? ZS_UINT32 : ZS_UINT8, units, &has_vlen);
    if (document == NULL || has_vlen != (type == ZS_TEXT_UTF8)) {
        zs_json_free(document);
        return zs_fail(err, ZS_INVALID,
                       "%s: expected sizes of one dimension, and the codec vlen-utf8 for strings and only for them",
                       r->node->key);
    }
    struct zs_node *numbers;
    ZS_TRY(zs_node_create_at(r->node->path, r->node->key, document, true, &numbers, err));
    if (numbers->array != NULL)
        numbers->array->is_draft = r->node->is_draft;
    enum zs_status status = ZS_OK;
    if (numbers->array == NULL)
        status = zs_fail(err, numbers->array_status, "%s", numbers->array_error.message); /* with its path */
    else if ((status = check_codecs(numbers->array, err)) != ZS_OK)
        status = zs_fail_in(err, status, "%s/zarr.json", r->node->path);
    else if (type == ZS_TEXT_UTF32)
        status = read_utf32(r, numbers, units, err);
    else if (type == ZS_TEXT_BYTES)
        status = read_bytes(r, numbers, units, err);
    else
        status = read_utf8(r, numbers->array, err);
    zs_node_free(numbers);
    return status;
}

enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err)
{
    uint64_t length;
    if (!zs_strings_length(node, &length) || first > length || count > length - first || count == 0)
        return zs_fail(err, ZS_ARGUMENT, "%s: expected an array of text with elements %llu and on", node->path,
                       (unsigned long long)first);
    if (count > ZS_STRINGS_MAX_BYTES / sizeof(char *))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %zu texts", node->path,
                       ZS_STRINGS_MAX_BYTES / sizeof(char *));
    struct reader r = {.store = zs_hierarchy_store(h), .node = node, .first = first, .count = count, .is_blank = true};
    r.values = zs_calloc((size_t)count, sizeof *r.values);
    if (r.values == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "%s: no memory for text", node->path);
    const enum zs_status status = read_all(&r, err);
    if (status != ZS_OK) {
        zs_strings_free(r.values, (size_t)count);
        return status;
    }
    *values = r.values;
    *is_blank = r.is_blank;
    return ZS_OK;
}
