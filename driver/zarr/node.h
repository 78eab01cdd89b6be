/* zarr/node.h: one zarr.json as structures: groups, and the metadata of arrays (core specification 3.1, "Array
 * metadata", "Group metadata"). */
#pragma once

#include "zarr/dtype.h"

/* ---- Chunk grids: all cut each dimension by itself ---- */

/* Chunks of one length that follow each other. */
struct zs_edge_run {
    uint64_t start; /* first element of the first of them */
    uint64_t first; /* its number */
    uint64_t edge;
    uint64_t count; /* > 0 */
};

/* The chunks of one dimension, where they differ; runs that follow each other have different edges. */
struct zs_edges {
    size_t run_count; /* > 0 */
    struct zs_edge_run runs[];
};

/* The chunk that holds element `index`, which is in one. */
uint64_t zs_edges_find(const struct zs_edges *edges, uint64_t index);
/* First element and length of chunk `at`, which is there. */
void zs_edges_span(const struct zs_edges *edges, uint64_t at, uint64_t *start, uint64_t *length);

/* ---- Nodes ---- */

/* Metadata of an array, checked and in native form. Sizes are in elements. */
struct zs_array_meta {
    int ndim;
    uint64_t shape[ZS_MAX_NDIM];
    struct zs_dtype dtype;
    unsigned char fill_value[ZS_MAX_ITEM_SIZE]; /* native byte order */
    bool fill_value_is_null;                    /* absent or null in the metadata; zs_fill_value_parse() */
    uint64_t chunk_shape[ZS_MAX_NDIM];          /* of stored objects; where lengths differ, the longest in the array */
    struct zs_edges *edges[ZS_MAX_NDIM];        /* of stored objects; NULL: all have the length in chunk_shape */
    bool has_edges;                             /* of some dimension */
    char key_separator;                         /* '/' or '.' */
    bool key_is_v2;                             /* chunk_key_encoding "v2" rather than "default" */
    bool key_is_draft;                          /* as in stores of the 2022 draft: "data/root/path/c0/3" */
    char *dimension_names[ZS_MAX_NDIM];         /* NULL where unnamed */
    bool names_are_implied;                     /* by its group, so its document has none: zs_node_take_names() */
    const zs_json *codecs;                      /* borrowed from the node's document, or: */
    zs_json *missing_codecs;                    /* for documents without (GDAL 3.8, drafts of 2023): little-endian */
    bool is_sharded;                            /* sharding_indexed is in the outer chain */
};

/* Whether the status of a look-up means that there is no node: no document, or that of something else. Any other status
 * but ZS_OK is a failure, which never counts as absence. */
static inline bool zs_is_no_node(enum zs_status status)
{
    return status == ZS_NOT_FOUND || status == ZS_INVALID || status == ZS_UNSUPPORTED;
}

enum zs_node_type { ZS_NODE_GROUP, ZS_NODE_ARRAY };

struct zs_node {
    enum zs_node_type type;
    char *path;                /* "" for the root, else "group/array": no leading or trailing slash */
    char *key;                 /* of its document, which an implicit group lacks: "group/array/zarr.json" */
    const zs_json *attributes; /* borrowed; NULL when absent */
    zs_json *document;         /* the whole zarr.json; owned unless owns_document is false (consolidated) */
    bool owns_document;
    bool is_implicit;                   /* a group without a zarr.json of its own */
    struct zs_array_meta *array;        /* NULL for groups, and for arrays that cannot be read */
    enum zs_status array_status;        /* why an array cannot be read: ZS_UNSUPPORTED, ZS_INVALID; else ZS_OK */
    const struct zs_error *array_error; /* the same as a message with the file's name: "group/array/zarr.json: ..." */
    bool is_text;                       /* its data type is one of text (dtype.h), so it is never a raster */
    struct zs_node *next;               /* of those that left the table of a hierarchy */
};

/* Makes a node from a parsed zarr.json. Copies `path`. Takes over `document` when owns_document, also on failure. An
 * array with metadata that this core cannot use becomes a node, too (see array_status), so that the rest of the store
 * stays usable; so does a group with an unknown member that must be understood. ZS_INVALID when the document is no Zarr
 * node, ZS_UNSUPPORTED when its zarr_format is not 3. */
enum zs_status zs_node_create(const char *path, zs_json *document, bool owns_document, struct zs_node **node,
                              struct zs_error *err);
/* Makes a group that has no zarr.json, with an empty document: other nodes lie below its path. */
enum zs_status zs_node_create_implicit(const char *path, struct zs_node **node, struct zs_error *err);
void zs_node_free(struct zs_node *node); /* NULL is allowed */

/* The axes of an image of OME-NGFF: those of its level that `path`, relative to the group with these attributes, names;
 * NULL where it names none, or one of another rank. An array of objects, borrowed. */
const zs_json *zs_image_axes(const zs_json *attributes, const char *path, int ndim);
/* Whether the group of an array may name its dimensions: it has several, and its document names none. */
bool zs_node_lacks_names(const struct zs_node *node);
/* Names the dimensions of such an array as the axes of the image in a group above it. False without memory. */
bool zs_node_take_names(struct zs_node *node, const struct zs_node *group);

/* Which metadata of an array are parsed: all; those of an array of text, whose text_most and fill value the caller
 * sets; shape and key encoding alone, of an array of any data type and codecs, when only keys of chunks are needed. */
enum zs_meta_kind { ZS_META_ARRAY, ZS_META_TEXT, ZS_META_KEYS };

/* Parses and checks the metadata of an array: the number of elements, and the bytes of a chunk, fit a uint64_t. On
 * failure nothing needs to be released. zs_node_create() calls it for arrays. */
enum zs_status zs_array_meta_parse(const zs_json *document, enum zs_meta_kind kind, struct zs_array_meta **meta,
                                   struct zs_error *err);
void zs_array_meta_free(struct zs_array_meta *meta); /* NULL is allowed */

/* Chunks of dimension `dim` that there may be, those that a grid has beyond the array too. */
uint64_t zs_chunk_count(const struct zs_array_meta *meta, int dim);

/* Fills in chunk_shape and edges of `meta`, whose shape is set. ZS_UNSUPPORTED for a grid that is not known, ZS_INVALID
 * with the member, what was expected and what was found. */
enum zs_status zs_chunk_grid_parse(const char *name, const zs_json *configuration, struct zs_array_meta *meta,
                                   struct zs_error *err);

/* Gives a document a regular grid. False without memory. */
bool zs_chunk_grid_set(zs_json *document, const uint64_t *chunk_shape, int ndim);

/* Makes the key of the chunk at grid position index[ndim] of the array at a path: "path/c/0/3", "path/0.3", "path/c"
 * (0-d). NULL without memory; freed with free(). */
char *zs_chunk_key(const struct zs_array_meta *meta, const char *array_path, const uint64_t *index);
/* Parses a key that is relative to the array's path. False unless it is spelt as zs_chunk_key() does. The position may
 * lie outside of the grid. */
bool zs_chunk_key_parse(const struct zs_array_meta *meta, const char *key, uint64_t *index);

/* Whether two values of a member of documents (NULL: it is absent) say the same: numbers however they are written,
 * codecs and other extensions by name and by the members that both have, since zarr-python spells out defaults in
 * consolidated metadata. With the `meta` of an array (NULL: a group, or not known), data types and fill values are
 * compared as they are parsed. */
bool zs_is_same_member(const struct zs_array_meta *meta, const char *name, const zs_json *a, const zs_json *b);
