/* zarr/node.h: one zarr.json as structures: groups, and the metadata of arrays (core specification 3.1, "Array
 * metadata", "Group metadata"). */
#ifndef ZS_ZARR_NODE_H
#define ZS_ZARR_NODE_H

#include "zarr/chunk_grid.h"
#include "zarr/dtype.h"
#include "zarr/extension.h"

/* Metadata of an array, checked and in native form. Sizes are in elements. */
struct zs_array_meta {
    int ndim;
    uint64_t shape[ZS_MAX_NDIM];
    struct zs_dtype dtype;
    unsigned char fill_value[ZS_MAX_ITEM_SIZE]; /* native byte order */
    bool fill_value_is_null;                    /* absent or null in the metadata; fill_value is then zero bits */
    /* one stored object; where they differ, the longest that begins in the array */
    uint64_t chunk_shape[ZS_MAX_NDIM];
    struct zs_edges *edges[ZS_MAX_NDIM];        /* of stored objects; NULL: all are as long as chunk_shape says */
    bool has_edges;                             /* some dimension has */
    char key_separator;                         /* '/' or '.' */
    bool key_is_v2;                             /* chunk_key_encoding "v2" rather than "default" */
    bool is_draft;                              /* of the draft (draft.h): chunks have other keys, and are only read */
    char *dimension_names[ZS_MAX_NDIM];         /* NULL where unnamed */
    const zs_json *codecs;                      /* borrowed from the node's document, or: */
    /* those of a document without (GDAL 3.8, drafts of 2023): elements as they are, little-endian */
    zs_json *missing_codecs;
    bool is_sharded;                            /* some codec of the outer chain is sharding_indexed */
};

/* Whether looking for a node found none of a kind that is read here: nothing at all, or the document of something else.
 * Any other status than that and ZS_OK is a failure, which never counts as absence. */
static inline bool zs_is_no_node(enum zs_status status)
{
    return status == ZS_NOT_FOUND || status == ZS_INVALID || status == ZS_UNSUPPORTED;
}

enum zs_node_type { ZS_NODE_GROUP, ZS_NODE_ARRAY };

struct zs_node {
    enum zs_node_type type;
    char *path;                /* "" for the root, else "group/array": no leading or trailing slash */
    /* of its document in the store: "group/array/zarr.json"; of an implicit group, where it would be */
    char *key;
    const zs_json *attributes; /* borrowed; NULL when absent */
    zs_json *document;         /* the whole zarr.json; owned unless owns_document is false (consolidated) */
    bool owns_document;
    bool is_implicit;                   /* a group without a zarr.json of its own */
    struct zs_array_meta *array;        /* NULL for groups, and for arrays that cannot be read: */
    enum zs_status array_status;        /* ... why not: ZS_UNSUPPORTED or ZS_INVALID; else ZS_OK */
    const struct zs_error *array_error; /* ... in words, with the file's name: "group/array/zarr.json: ..." */
    bool is_text;                       /* its data type is one of text (dtype.h): names for others, never a picture */
    bool is_draft;                      /* of a store of the draft (draft.h) */
    bool mentions_sharding;             /* a codec named sharding_indexed occurs, readable or not */
    bool mentions_rectilinear;             /* likewise the chunk grid of that name */
};

/* Makes a node from a parsed zarr.json. `path` is copied. Takes over `document` when owns_document. An array whose
 * metadata this core cannot use still gives a node (array_status says why), so that the rest of a store stays usable,
 * and so does a group with a member that must be understood and is not. ZS_INVALID only when the document is not a Zarr
 * node at all, ZS_UNSUPPORTED when its zarr_format is another than 3. On failure the document is released if owned. */
enum zs_status zs_node_create(const char *path, zs_json *document, bool owns_document, struct zs_node **node,
                              struct zs_error *err) ZS_MUST_CHECK;
/* Like zs_node_create(), for a document with another key (draft.h), which messages name. */
enum zs_status zs_node_create_at(const char *path, const char *key, zs_json *document, bool owns_document,
                                 struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;
/* A group that has no zarr.json: only a path that others lie below. */
enum zs_status zs_node_create_implicit(const char *path, struct zs_node **node, struct zs_error *err) ZS_MUST_CHECK;
/* Notes why an array cannot be read; ZS_NO_MEMORY only. */
enum zs_status zs_node_refuse(struct zs_node *node, enum zs_status status, const char *message,
                              struct zs_error *err) ZS_MUST_CHECK;
void zs_node_free(struct zs_node *node); /* NULL is allowed */

/* Reads the metadata of an array from its document; what zs_node_create() does for arrays. On failure nothing needs to
 * be released. Everything that comes from the file is bounded here: the number of elements, and the bytes of one chunk,
 * fit a uint64_t. */
enum zs_status zs_array_meta_parse(const zs_json *document, struct zs_array_meta **meta,
                                   struct zs_error *err) ZS_MUST_CHECK;
/* Like zs_array_meta_parse(), for an array of any data type and codecs, when only keys of chunks are needed: sets shape
 * and key encoding; all else is zero. */
enum zs_status zs_array_keys_parse(const zs_json *document, struct zs_array_meta **meta,
                                   struct zs_error *err) ZS_MUST_CHECK;
void zs_array_meta_free(struct zs_array_meta *meta); /* NULL is allowed */

/* Key of the chunk at grid position index[ndim] of the array at a path: "path/c/0/3", "path/0.3", "path/c" (0-d); of
 * the draft "data/root/path/c0/3". NULL without memory; freed with free(). */
char *zs_chunk_key(const struct zs_array_meta *meta, const char *array_path, const uint64_t *index);
/* Folder of an array's chunks: its path; in the draft "data/root/path". NULL without memory; freed with free(). */
char *zs_chunk_folder(const struct zs_array_meta *meta, const char *array_path);
/* The reverse of zs_chunk_key(), for a key below that folder: false unless the key is exactly what zs_chunk_key() would
 * build. The position may lie outside of the grid. */
bool zs_chunk_key_parse(const struct zs_array_meta *meta, const char *key, uint64_t *index);

#endif
