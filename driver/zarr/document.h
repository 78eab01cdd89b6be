/* zarr/document.h: zarr.json documents: reading, writing and consolidating them, and making those of new arrays and
 * groups (core specification 3.1; sharding codec). */
#pragma once

#include "store/store.h"
#include "zarr/node.h"

enum zs_compression { ZS_COMPRESS_NONE, ZS_COMPRESS_ZSTD, ZS_COMPRESS_BLOSC, ZS_COMPRESS_GZIP };

/* How chunks are encoded. */
struct zs_encoding {
    enum zs_compression compression;
    int level;
    bool is_usual_level;       /* not set by the user: for zstd in blosc, the filter may have a quicker one */
    const char *blosc_cname;   /* "zstd", "lz4" ...; borrowed */
    const char *blosc_shuffle; /* "noshuffle", "shuffle", "bitshuffle" */
    bool chunk_checksum;       /* crc32c behind each chunk */
    bool index_at_start;
    bool zstd_checksum;   /* zstd's own, in each frame */
    int blosc_blocksize;  /* bytes; 0: for zstd by the filter and the chunk's shape, else as blosc chooses */
    bool is_column_major; /* the first dimension of a chunk is the fastest */
    bool is_big_endian;
    bool is_text;         /* texts of any length, whatever the data type: "string" and vlen-utf8 */
    bool has_dotted_keys; /* chunk c.0.1, not c/0/1 */
    int keepbits;         /* of floats: digits of the fraction that are kept (numcodecs.bitround); 0: all */
};

/* An array to be created. Shapes in elements, slowest dimension first. */
struct zs_array_spec {
    int ndim;
    uint64_t shape[ZS_MAX_NDIM];
    uint64_t chunk_shape[ZS_MAX_NDIM]; /* the smallest unit that is decoded */
    bool is_sharded;
    uint64_t shard_shape[ZS_MAX_NDIM]; /* multiples of chunk_shape */
    struct zs_dtype dtype;
    unsigned char fill_value[ZS_MAX_ITEM_SIZE];
    const char *dimension_names[ZS_MAX_NDIM]; /* NULL where unnamed */
    struct zs_encoding encoding;
};

/* The filter of the blosc codec, and its parameters. */
struct zs_blosc_settings {
    const char *shuffle; /* borrowed */
    int level;
    int block_size; /* bytes; 0: as blosc chooses */
};

/* Returns the settings for an array's encoding, with its filter, data type and chunk_shape. Blocks of deep chunks are
 * small, because maps are read out of them block by block. */
struct zs_blosc_settings zs_blosc_settings_of(const struct zs_array_spec *spec);

/* Lists of sizes, and of names (null where names[d] is NULL), as documents have them. NULL without memory. */
zs_json *zs_shape_list(const uint64_t *shape, int ndim);
zs_json *zs_name_list(const char *const *names, int ndim);

/* Makes the document of an array, with empty attributes; NULL without memory. Released with zs_json_free(). */
zs_json *zs_array_document(const struct zs_array_spec *spec);

/* Makes the document of a group, with empty attributes; NULL without memory. */
zs_json *zs_group_document(void);

/* Gives an array without chunks the default keys of these, by which left ones are known (contents.h). False without
 * memory. */
bool zs_document_use_default_keys(zs_json *document);

/* Makes the key of the zarr.json of the node at `path` ("" is the root): "group/zarr.json". NULL without memory, freed
 * with free(). */
char *zs_document_key(const char *path);

/* Reads the JSON object at `key`, released with zs_json_free(), and its ETag as zs_store_get_tagged() does (NULL: not
 * asked for). ZS_NOT_FOUND when there is no object, ZS_CORRUPT with the file's name when it is no JSON object: a file
 * that was cut, or another answer of a server. */
enum zs_status zs_document_get(struct zs_store *store, const char *key, zs_json **document, char **etag,
                               struct zs_error *err);

/* The same by the node's path: *document is NULL when there is no object. */
enum zs_status zs_document_load(struct zs_store *store, const char *path, zs_json **document, char **etag,
                                struct zs_error *err);
/* Returns the documents that the consolidated metadata of a group list, by their paths below it; NULL: none. */
const zs_json *zs_document_listing(const zs_json *document);
/* Returns a copy of a document without its consolidated metadata, which belong to other nodes; NULL without memory. */
zs_json *zs_document_own(const zs_json *document);

/* Makes a node of the zarr.json of the node at `path`; as zs_document_get() and zs_node_create() fail. */
enum zs_status zs_document_get_node(struct zs_store *store, const char *path, struct zs_node **node,
                                    struct zs_error *err);

/* Whether a store without zarr.json has a document of Zarr v2 at its root: asks for up to three objects. */
bool zs_document_is_v2(struct zs_store *store);
/* The message for such a store. */
extern const char zs_found_v2[];

/* Prints the zarr.json of the node at `path` ("" is the root), freed with free(). ZS_ARGUMENT for a document that
 * zs_document_get() would refuse to read. */
enum zs_status zs_document_print(const struct zs_store *store, const char *path, const zs_json *document, char **text,
                                 struct zs_error *err);
/* Writes such a text; with `etag` only over the document of that version (zs_store_put_over()). */
enum zs_status zs_document_put_text(struct zs_store *store, const char *path, const char *etag, const char *text,
                                    struct zs_error *err);

/* A document of consolidated metadata; NULL: the node at this name, and all below it, are not there any more. */
struct zs_listed {
    const char *name; /* path below the group */
    const zs_json *document;
};

/* Puts documents, each of another name, into the inline consolidated metadata of a group, which gets some where it has
 * none; those that list nothing any more go. Sets *is_changed where that changes something. Members of one group stand
 * together (zarr-python 3.1 loses members that stand apart), 0-d arrays, such as grid mapping variables, before the
 * others (GDAL 3.13 gives an array no CRS when its grid mapping comes later). Groups in it list nothing themselves. */
enum zs_status zs_document_consolidate(zs_json *group, const struct zs_listed *list, size_t count, bool *is_changed,
                                       struct zs_error *err);
