/* array/strings_private.h: an opened array of text, shared by strings_read.c and strings_write.c. Its chunks are those
 * of an array of bytes with the same document; their content depends on its data type. */
#ifndef ZS_ARRAY_STRINGS_PRIVATE_H
#define ZS_ARRAY_STRINGS_PRIVATE_H

#include "array/grid.h"
#include "array/strings.h"

struct zs_texts {
    struct zs_store *store;
    const struct zs_node *node; /* of the text */
    struct zs_node *bytes;      /* of the array of bytes */
    struct zs_chain chain;
    struct zs_grid grid;
    enum zs_text_type type;
    size_t item; /* bytes of an element; 0: of any length */
    bool is_big_endian;
    char *fill;       /* as UTF-8 */
    size_t max_chunk; /* bytes of a decoded chunk */
};

/* A copy of a list of codecs, and of the lists in its shards, in which the JSON `to` stands for each codec of the name
 * `from`; *any is set where there is one. NULL when that is impossible. The depth of documents is limited by
 * zarr/json.h. */
zs_json *zs_text_codecs(const zs_json *codecs, const char *from, const char *to, bool *any);

/* On failure nothing needs to be closed. */
enum zs_status zs_texts_open(struct zs_store *store, const struct zs_node *node, size_t max_chunk,
                             struct zs_texts *texts, struct zs_error *err) ZS_MUST_CHECK;
void zs_texts_close(struct zs_texts *texts);

/* Elements of a request: those numbered [from, to) in each dimension, as `all` counts them. */
struct zs_text_part {
    const struct zs_text_request *all;
    uint64_t from[ZS_MAX_NDIM], to[ZS_MAX_NDIM];
};

/* Checks a request, and sets *all to it. ZS_ARGUMENT where the node is no array of text, or elements lie outside of
 * it. */
enum zs_status zs_text_check(const struct zs_node *node, const struct zs_text_request *request,
                             struct zs_text_part *all, struct zs_error *err) ZS_MUST_CHECK;

/* The level-k chunks that hold elements of `whole`, one after the other: sets *part to the elements in the next one,
 * and `at` to its position in the grid of that level. False after the last. Begin with is_first. */
bool zs_text_next(const struct zs_texts *texts, int k, const struct zs_text_part *whole, bool is_first,
                  struct zs_text_part *part, uint64_t *at);

/* Calls f for each element of a part, which lies in the innermost chunk at `at`: with its numbers in the request, and
 * its number in the chunk as stored. */
typedef enum zs_status (*zs_text_each_fn)(void *ctx, const uint64_t *number, uint64_t stored, struct zs_error *err);
enum zs_status zs_text_each(const struct zs_texts *texts, const struct zs_text_part *part, const uint64_t *at,
                            zs_text_each_fn f, void *ctx, struct zs_error *err) ZS_MUST_CHECK;

/* ---- What is in a decoded innermost chunk (strings_items.c) ---- */

struct zs_text_items {
    const struct zs_texts *texts;
    uint64_t count;
    struct zs_buffer bytes;
    size_t *starts; /* elements of any length: where each begins, with its size; else NULL */
    char *room;     /* of those of UTF-32 */
};

/* Undoes the bytes codecs of a level: at most `limit` bytes. */
enum zs_status zs_text_decode(const struct zs_level *level, const void *data, size_t n, size_t limit,
                              struct zs_buffer *out, struct zs_error *err) ZS_MUST_CHECK;

/* Decodes n encoded bytes. ZS_CORRUPT where they are not laid out as count elements, ZS_UNSUPPORTED where they are more
 * than t->max_chunk. Closed also on failure. */
enum zs_status zs_text_items_open(const struct zs_texts *texts, const void *data, size_t n, struct zs_text_items *items,
                                  struct zs_error *err) ZS_MUST_CHECK;
void zs_text_items_close(struct zs_text_items *items);
/* An element as UTF-8; *text is valid until the next call. ZS_CORRUPT where it is not UTF-8. */
enum zs_status zs_text_item(struct zs_text_items *items, uint64_t i, const char **text, size_t *n,
                            struct zs_error *err) ZS_MUST_CHECK;
/* Appends an element, as it is stored. ZS_ARGUMENT for what is no UTF-8, or too long. */
enum zs_status zs_text_item_append(const struct zs_texts *texts, const char *text, size_t n, struct zs_buffer *out,
                                   struct zs_error *err) ZS_MUST_CHECK;
/* Appends what stands before all elements of a chunk. */
enum zs_status zs_text_items_begin(const struct zs_texts *texts, uint64_t count, struct zs_buffer *out,
                                   struct zs_error *err) ZS_MUST_CHECK;

#endif
