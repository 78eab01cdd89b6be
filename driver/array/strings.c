/* Arrays of text: windows of an array whose elements are pointers to what is stored of each text (codec/codec.h). Here
 * that becomes UTF-8, and UTF-8 becomes that. */
#include "array/array.h"

#include <stdlib.h>
#include <string.h>

#include "array/plan.h"
#include "codec/codec.h"

struct texts {
    struct zs_node node; /* that of the text, with the metadata of an array of pointers */
    unsigned char *fill; /* as it is stored */
    struct zs_array *array;
};

/* ---- A text as it is stored ---- */

/* Appends UTF-8 that was checked as UTF-32. */
static enum zs_status append_code_points(const char *text, size_t n, struct zs_buffer *out, struct zs_error *err)
{
    for (size_t i = 0; i < n;) {
        unsigned char bytes[4];
        uint32_t code;
        i += zs_utf8_get(text + i, n - i, &code);
        zs_store_le(bytes, code, sizeof bytes);
        ZS_TRY(zs_buffer_append(out, bytes, sizeof bytes, err));
    }
    return ZS_OK;
}

/* Appends a text as it is stored. ZS_ARGUMENT where it is not UTF-8, or too long. */
static enum zs_status append_text(const struct zs_dtype *dtype, const char *text, size_t n, struct zs_buffer *out,
                                  struct zs_error *err)
{
    const bool is_utf32 = dtype->text == ZS_TEXT_UTF32;
    const size_t end = out->size + dtype->text_size;
    unsigned char length[4];
    size_t codes = 0;
    if (zs_utf8_length(text, n) != n)
        return zs_fail(err, ZS_ARGUMENT, "expected text in UTF-8");
    for (size_t i = 0; i < n; i++)
        codes += (text[i] & 0xC0) != 0x80;
    const size_t bytes = is_utf32 ? 4 * codes : n;
    if (dtype->text_size != 0 && bytes > dtype->text_size)
        return zs_fail(err, ZS_ARGUMENT, "\"%.60s\": expected text of at most %zu %s", text,
                       is_utf32 ? dtype->text_size / 4 : dtype->text_size, is_utf32 ? "code points" : "bytes");
    if (bytes > dtype->text_most)
        return zs_fail(err, ZS_ARGUMENT, "expected chunks of at most %zu bytes of text, found more", dtype->text_most);
    zs_store_le(length, n, sizeof length);
    if (dtype->text_size == 0)
        ZS_TRY(zs_buffer_append(out, length, sizeof length, err));
    ZS_TRY(is_utf32 ? append_code_points(text, n, out, err) : zs_buffer_append(out, text, n, err));
    while (dtype->text_size != 0 && out->size < end)
        ZS_TRY(zs_buffer_append(out, "", 1, err));
    return ZS_OK;
}

/* Writes the code points up to the last that is not zero as *n bytes of UTF-8, into as many bytes as they take. */
static enum zs_status take_code_points(const struct zs_dtype *dtype, const unsigned char *stored, char *room, size_t *n,
                                       struct zs_error *err)
{
    size_t length = dtype->text_size / 4;
    while (length > 0 && zs_load_le32(stored + 4 * (length - 1)) == 0)
        length--;
    *n = 0;
    for (size_t i = 0; i < length; i++) {
        const uint32_t code = zs_load_le32(stored + 4 * i);
        const size_t put = zs_utf8_put(code, room + *n); /* at most 4 bytes, as the code has */
        if (put == 0)
            return zs_fail(err, ZS_CORRUPT, "0x%08lx is no code point", (unsigned long)code);
        *n += put;
    }
    return ZS_OK;
}

/* A stored text as UTF-8; `room` has dtype->text_size bytes. ZS_CORRUPT where it is none. */
static enum zs_status take_text(const struct zs_dtype *dtype, const unsigned char *stored, char *room,
                                const char **text, size_t *n, struct zs_error *err)
{
    *text = (const char *)stored;
    if (dtype->text == ZS_TEXT_UTF8) {
        *n = zs_load_le32(stored);
        *text += 4;
    } else if (dtype->text == ZS_TEXT_UTF32) {
        ZS_TRY(take_code_points(dtype, stored, room, n, err));
        *text = room;
    } else {
        for (*n = dtype->text_size; *n > 0 && stored[*n - 1] == '\0';)
            --*n;
    }
    if (zs_utf8_length(*text, *n) == *n && memchr(*text, '\0', *n) == NULL)
        return ZS_OK;
    return zs_fail(err, ZS_CORRUPT, "expected text in UTF-8");
}

/* ---- Opening ---- */

/* Sets the fill value: a string, of bytes in base64. */
static enum zs_status take_fill(struct texts *texts, struct zs_error *err)
{
    const zs_json *fill = zs_json_get(texts->node.document, "fill_value");
    struct zs_dtype *dtype = &texts->node.array->dtype;
    const char *text = "";
    if (zs_json_typeof(fill) != ZS_JSON_NULL && !zs_json_string(fill, &text))
        return zs_fail(err, ZS_INVALID, "fill_value: expected a string");
    size_t n = strlen(text);
    struct zs_buffer bytes = {0}, stored = {0};
    enum zs_status status = zs_buffer_append(&bytes, text, n + 1, err);
    if (status == ZS_OK && dtype->text == ZS_TEXT_BYTES) {
        const long decoded = zs_base64_decode(text, bytes.data, n);
        if (decoded < 0)
            status = zs_fail(err, ZS_UNSUPPORTED, "fill_value: expected base64");
        for (n = decoded > 0 ? (size_t)decoded : 0; n > 0 && bytes.data[n - 1] == '\0';)
            n--;
    }
    if (status == ZS_OK && (zs_utf8_length((char *)bytes.data, n) != n || memchr(bytes.data, '\0', n) != NULL))
        status = zs_fail(err, ZS_UNSUPPORTED, "fill_value: expected text in UTF-8");
    if (status == ZS_OK)
        status = append_text(dtype, (char *)bytes.data, n, &stored, err);
    if (status == ZS_ARGUMENT)
        status = zs_fail_in(err, ZS_INVALID, "fill_value");
    zs_buffer_free(&bytes);
    texts->fill = stored.data;
    memcpy(texts->node.array->fill_value, &texts->fill, sizeof texts->fill);
    return status;
}

static enum zs_status take_meta(struct texts *texts, size_t most, struct zs_error *err)
{
    uint64_t all;
    ZS_TRY(zs_array_meta_parse(texts->node.document, ZS_META_TEXT, &texts->node.array, err));
    struct zs_array_meta *meta = texts->node.array;
    meta->dtype.text_most = (size_t)zs_min_u64(most, INT32_MAX);
    if (!zs_product_u64(meta->shape, meta->ndim, &all) || !zs_mul_u64(all, meta->dtype.text_size, &all))
        return zs_fail(err, ZS_INVALID, "expected text of fewer than 2^64 bytes");
    return take_fill(texts, err);
}

static void close_texts(struct texts *texts)
{
    zs_array_close(texts->array);
    zs_array_meta_free(texts->node.array);
    free(texts->fill);
}

/* Opens an array whose chunks have at most so many bytes. On failure nothing needs to be closed. */
static enum zs_status open_texts(struct zs_hierarchy *h, const struct zs_node *node, size_t most, struct texts *texts,
                                 struct zs_error *err)
{
    /* One chunk is decoded at a time: its size is not known before. */
    const struct zs_array_options options = {.threads = 1, .max_chunk_bytes = INT32_MAX};
    *texts = (struct texts){.node = *node};
    texts->node.array = NULL;
    if (!node->is_text)
        return zs_fail(err, ZS_ARGUMENT, "%s: expected an array of text", node->key);
    enum zs_status status = take_meta(texts, most != 0 ? most : ZS_STRINGS_MAX_BYTES, err);
    status = status == ZS_OK ? zs_array_open_node(h, &texts->node, &options, &texts->array, err)
                             : zs_fail_in(err, status, "%s", node->key);
    if (status != ZS_OK)
        close_texts(texts);
    return status;
}

/* ---- Requests ---- */

enum zs_status zs_strings_shape(const struct zs_node *node, int *ndim, uint64_t *shape, struct zs_error *err)
{
    const zs_json *list = node->is_text ? zs_json_get(node->document, "shape") : NULL;
    if (!zs_json_is_array(list) || zs_json_size(list) > ZS_MAX_NDIM)
        return zs_fail(err, ZS_INVALID, "%s: shape: expected a list of at most %d sizes", node->key, ZS_MAX_NDIM);
    *ndim = 0;
    for (const zs_json *size = zs_json_first(list); size != NULL; size = zs_json_next(size))
        if (!zs_json_uint64(size, &shape[(*ndim)++]))
            return zs_fail(err, ZS_INVALID, "%s: shape: expected sizes of 0 and more", node->key);
    return ZS_OK;
}

static uint64_t element_of(const struct zs_stepped_window *request, int d, uint64_t number)
{
    return request->start[d] + number * request->step[d];
}

/* ---- Reading ---- */

struct reader {
    const struct texts *texts;
    const struct zs_stepped_window *request;
    zs_text_take_fn take;
    void *ctx;
    char *room;           /* of texts in UTF-32 */
    pthread_mutex_t lock; /* of what follows, and of `take` */
    bool is_blank;
    enum zs_status status; /* the first failure */
    struct zs_error err;
};

/* Gives one element, whose numbers these are. */
static enum zs_status take_element(struct reader *reader, const uint64_t *number, const void *element)
{
    const struct zs_array *array = reader->texts->array;
    const int innermost = array->chain.count - 1;
    const unsigned char *stored;
    const char *text;
    uint64_t at[ZS_MAX_NDIM];
    size_t n;
    memcpy(&stored, element, sizeof stored);
    if (take_text(&array->meta->dtype, stored, reader->room, &text, &n, &reader->err) == ZS_OK)
        return reader->take(reader->ctx, number, text, n, &reader->err);
    for (int d = 0; d < array->meta->ndim; d++)
        at[d] = zs_grid_find(&array->grid, innermost, d, element_of(reader->request, d, number[d]));
    return zs_fail_in_chunk(array, zs_grid_number(&array->grid, innermost, at), ZS_CORRUPT, &reader->err);
}

/* Gives what is wanted of some elements of the array: a zs_take_fn. */
static void take_elements(void *ctx, void *data, const uint64_t *start, const uint64_t *count, const void *src,
                          const ptrdiff_t *stride)
{
    struct reader *reader = ctx;
    const struct zs_stepped_window *all = reader->request;
    uint64_t low[ZS_MAX_NDIM], high[ZS_MAX_NDIM], number[ZS_MAX_NDIM];
    bool more = true;
    (void)data;
    for (int d = 0; d < all->ndim; d++) {
        const uint64_t step = all->step[d], first = start[d] - all->start[d];
        low[d] = number[d] = step == 0 ? 0 : zs_ceil_div_u64(first, step);
        high[d] = step == 0 ? all->count[d] : (first + count[d] - 1) / step + 1;
        more = more && low[d] < high[d];
    }
    (void)pthread_mutex_lock(&reader->lock);
    reader->is_blank = reader->is_blank && src == reader->texts->array->meta->fill_value;
    while (more && reader->status == ZS_OK) {
        const char *element = src;
        for (int d = 0; d < all->ndim; d++)
            element += (ptrdiff_t)(element_of(all, d, number[d]) - start[d]) * stride[d];
        reader->status = take_element(reader, number, element);
        more = zs_next_position(all->ndim, number, low, high);
    }
    (void)pthread_mutex_unlock(&reader->lock);
}

static enum zs_status read_windows(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    struct reader *reader = ctx;
    ZS_TRY(zs_array_take_windows(reader->texts->array, windows, n, take_elements, reader, err));
    if (reader->status != ZS_OK && err != NULL)
        *err = reader->err;
    return reader->status;
}

enum zs_status zs_texts_read(struct zs_hierarchy *h, const struct zs_node *node, size_t max_chunk,
                             const struct zs_stepped_window *request, zs_text_take_fn take, void *ctx, bool *is_blank,
                             struct zs_error *err)
{
    struct texts texts;
    struct zs_stepped_window window = *request; /* whose elements lie nowhere */
    bool is_apart[ZS_MAX_NDIM] = {false};
    ZS_TRY(open_texts(h, node, max_chunk, &texts, err));
    struct reader reader = {.texts = &texts, .request = request, .take = take, .ctx = ctx, .is_blank = true};
    for (int d = 0; d < request->ndim; d++) /* chunks between are not read */
        is_apart[d] = request->count[d] > 1 && request->step[d] >= texts.array->innermost->shape[d];
    reader.room = malloc(texts.array->meta->dtype.text_size + 1);
    (void)pthread_mutex_init(&reader.lock, NULL);
    window.data = NULL;
    memset(window.stride, 0, sizeof window.stride);
    const enum zs_status status =
        reader.room != NULL ? zs_stepped_windows(&window, is_apart, read_windows, &reader, err) : zs_fail_memory(err);
    (void)pthread_mutex_destroy(&reader.lock);
    free(reader.room);
    if (status == ZS_OK && is_blank != NULL)
        *is_blank = reader.is_blank;
    close_texts(&texts);
    return status;
}

/* ---- Lists ---- */

struct list {
    char **values;
    size_t total; /* bytes of all */
};

static enum zs_status take_value(void *ctx, const uint64_t *number, const char *text, size_t n, struct zs_error *err)
{
    struct list *list = ctx;
    char **value = &list->values[number[0]];
    if (*value != NULL) { /* its shard was replaced while it was read, and is read again */
        list->total -= strlen(*value);
        free(*value);
    }
    *value = NULL;
    if (n > ZS_STRINGS_MAX_BYTES - list->total)
        return zs_fail(err, ZS_UNSUPPORTED, "expected at most %zu bytes of text", ZS_STRINGS_MAX_BYTES);
    list->total += n;
    *value = zs_strndup(text, n);
    return *value != NULL ? ZS_OK : zs_fail_memory(err);
}

enum zs_status zs_strings_read(struct zs_hierarchy *h, const struct zs_node *node, uint64_t first, uint64_t count,
                               char ***values, bool *is_blank, struct zs_error *err)
{
    const struct zs_stepped_window request = {.ndim = 1, .start = {first}, .count = {count}, .step = {1}};
    struct list list = {0};
    if (count > ZS_STRINGS_MAX_BYTES / sizeof(char *))
        return zs_fail(err, ZS_UNSUPPORTED, "%s: expected at most %zu texts", node->path,
                       ZS_STRINGS_MAX_BYTES / sizeof(char *));
    list.values = zs_calloc((size_t)count + 1, sizeof *list.values);
    ZS_TRY_MEMORY(list.values, err);
    const enum zs_status status = zs_texts_read(h, node, 0, &request, take_value, &list, is_blank, err);
    if (status == ZS_OK) {
        *values = list.values;
        return ZS_OK;
    }
    for (uint64_t i = 0; i < count; i++)
        free(list.values[i]);
    free(list.values);
    return status;
}

/* ---- Writing ---- */

struct writer {
    const struct texts *texts;
    zs_text_give_fn give;
    void *ctx;
};

/* Sets elements[] to the texts of a request, which are stored in `bytes`. */
static enum zs_status give_elements(const struct writer *writer, const struct zs_stepped_window *request,
                                    const unsigned char **elements, struct zs_buffer *bytes, struct zs_error *err)
{
    const struct zs_dtype *dtype = &writer->texts->array->meta->dtype;
    uint64_t number[ZS_MAX_NDIM] = {0};
    const uint64_t low[ZS_MAX_NDIM] = {0};
    size_t n = 0, at = 0;
    do {
        const char *text = NULL;
        ZS_TRY(writer->give(writer->ctx, number, &text, err));
        text = text != NULL ? text : "";
        ZS_TRY(append_text(dtype, text, strlen(text), bytes, err));
        n++;
    } while (zs_next_position(request->ndim, number, low, request->count));
    for (size_t i = 0; i < n; i++) {
        const unsigned char *stored = bytes->data + at;
        at += zs_text_stored_size(dtype, stored);
        elements[i] = zs_text_equals(dtype, stored, writer->texts->fill) ? writer->texts->fill : stored;
    }
    return ZS_OK;
}

static enum zs_status write_windows(void *ctx, const struct zs_window *windows, size_t n, struct zs_error *err)
{
    const struct writer *writer = ctx;
    return zs_array_write_windows(writer->texts->array, windows, n, sizeof(const unsigned char *), NULL, NULL, err);
}

/* Writes and publishes all elements. */
static enum zs_status write_elements(struct writer *writer, const struct zs_stepped_window *request,
                                     struct zs_error *err)
{
    struct zs_array *array = writer->texts->array;
    struct zs_buffer bytes = {0};
    bool is_apart[ZS_MAX_NDIM] = {false};
    uint64_t n;
    if (!zs_product_u64(request->count, request->ndim, &n))
        return zs_fail_memory(err);
    const unsigned char **elements = zs_calloc(n, sizeof *elements);
    struct zs_stepped_window window = *request; /* whose elements lie densely there */
    ptrdiff_t stride = (ptrdiff_t)sizeof *elements;
    window.data = (char *)elements;
    for (int d = window.ndim - 1; d >= 0; d--) {
        is_apart[d] = window.count[d] > 1 && window.step[d] != 1; /* elements between are not written */
        window.stride[d] = stride;
        stride *= (ptrdiff_t)window.count[d];
    }
    enum zs_status status =
        elements != NULL ? give_elements(writer, request, elements, &bytes, err) : zs_fail_memory(err);
    if (status == ZS_OK)
        status = zs_stepped_windows(&window, is_apart, write_windows, writer, err);
    if (status == ZS_OK)
        status = zs_array_flush(array, err);
    zs_buffer_free(&bytes);
    free(elements);
    return status;
}

enum zs_status zs_texts_write(struct zs_hierarchy *h, const struct zs_node *node, size_t max_chunk,
                              const struct zs_stepped_window *request, zs_text_give_fn give, void *ctx,
                              struct zs_error *err)
{
    struct texts texts;
    uint64_t version = 0;
    ZS_TRY(zs_hierarchy_check_array(h, node, &version, err));
    ZS_TRY(open_texts(h, node, max_chunk, &texts, err));
    texts.array->document = version;
    struct writer writer = {.texts = &texts, .give = give, .ctx = ctx};
    const enum zs_status status = write_elements(&writer, request, err);
    close_texts(&texts);
    return status;
}
