/* icechunk/icechunk_private.h: what the files of this room share. */
#pragma once

#include "base/cache.h"
#include "icechunk/icechunk.h"
#include "zarr/node.h"

/* ---- FlatBuffers (flatbuffer.c), read in place (flatbuffers.dev, "FlatBuffers Internals"). The bytes are hostile:
 * each offset is checked when it is followed. One that leads elsewhere gives what an absent field gives, and makes the
 * buffer `is_broken`: look at that before what was read is used. An absent field is 0, NULL, or a table or vector `of`
 * nothing. Nothing relies on alignment. ---- */

/* One buffer; the bytes are borrowed. */
struct zs_flat {
    const unsigned char *data;
    size_t size;
    bool is_broken;
};

struct zs_flat_table {
    struct zs_flat *of; /* NULL: there is none */
    size_t at, vtable, fields, size;
};
struct zs_flat_vector {
    struct zs_flat *of;        /* NULL: there is none */
    const unsigned char *data; /* `count` elements of the size that was asked for; also the bytes of a string */
    size_t count;
};

struct zs_flat_table zs_flat_root(struct zs_flat *flat);

/* Field `field` of a table, counted from 0 as in its schema (a union takes two). An unsigned number of 1 to 8 bytes: */
uint64_t zs_flat_number(const struct zs_flat_table *table, unsigned field, size_t size);
/* A struct of `size` bytes. */
const unsigned char *zs_flat_struct(const struct zs_flat_table *table, unsigned field, size_t size);
struct zs_flat_table zs_flat_table(const struct zs_flat_table *table, unsigned field);
/* A vector of elements of `size` bytes: structs, numbers or characters; 4 for tables and strings. */
struct zs_flat_vector zs_flat_vector(const struct zs_flat_table *table, unsigned field, size_t size);

/* Element `index` < count of a vector of tables. */
struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index);

/* ---- Files (file.c) ---- */

#define ZS_ICECHUNK_ID_BYTES 12
#define ZS_ICECHUNK_NODE_ID_BYTES 8
/* An id in Crockford's Base32, zero-terminated. */
#define ZS_ICECHUNK_ID_TEXT 21

void zs_icechunk_id_print(const unsigned char id[ZS_ICECHUNK_ID_BYTES], char text[ZS_ICECHUNK_ID_TEXT]);
bool zs_icechunk_is_id(const char *text);
/* A string of a file as text, freed with free(). NULL where it is absent, no UTF-8, or has control characters, and
 * without memory. */
char *zs_icechunk_text(const struct zs_flat_vector *vector);
/* ZS_CORRUPT: offsets in a FlatBuffer lead elsewhere, or what must be there is not. */
enum zs_status zs_icechunk_fail_broken(const char *what, struct zs_error *err);

enum zs_icechunk_type { ZS_ICECHUNK_SNAPSHOT = 1, ZS_ICECHUNK_MANIFEST = 2, ZS_ICECHUNK_INFO = 6 };

struct zs_icechunk_file {
    struct zs_flat flat;
    int version;
    uint64_t refs; /* of a manifest, counted when it was checked */
    struct zs_buffer bytes;
    char *name; /* its name in the cache */
};

/* The files of a repository. */
struct zs_icechunk_files {
    struct zs_store *store; /* borrowed */
    char *name; /* of the repository in the process's cache; unique where files are not to be remembered */
};

enum zs_status zs_icechunk_files_init(struct zs_icechunk_files *files, struct zs_store *store, struct zs_error *err);

/* Reads a file; freed with zs_icechunk_file_free(). ZS_NOT_FOUND where there is none. */
enum zs_status zs_icechunk_file_read(const struct zs_icechunk_files *files, const char *key, enum zs_icechunk_type type,
                                     struct zs_icechunk_file **file, struct zs_error *err);
void zs_icechunk_file_free(void *file); /* NULL is allowed */

/* Gets a snapshot or manifest by its id, which the file must have too; a manifest is checked. It is pinned in the
 * process's cache: release it with zs_icechunk_file_release(). ZS_NOT_FOUND where there is none. */
enum zs_status zs_icechunk_file_find(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                     struct zs_cache_entry **entry, struct zs_error *err);
/* Like zs_icechunk_file_find(), for an id that a file refers to: its absence is ZS_CORRUPT. */
enum zs_status zs_icechunk_file_get(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                    struct zs_cache_entry **entry, struct zs_error *err);
struct zs_icechunk_file *zs_icechunk_file_of(const struct zs_cache_entry *entry);
void zs_icechunk_file_pin(struct zs_cache_entry *entry);     /* once more */
void zs_icechunk_file_release(struct zs_cache_entry *entry); /* NULL is allowed */

/* ---- Commits (commit.c) ---- */

struct zs_icechunk_commit {
    char id[ZS_ICECHUNK_ID_TEXT]; /* "": nothing was committed */
    char *branch, *tag;           /* by which it was found; NULL where its id was given */
    bool has_info;                /* the repository is of version 2, with one object for its history */
    char *branches, *tags;        /* names with commas between; NULL where they were not read */
};

/* Finds the commit that stands behind "?" in the name of a store. ZS_NOT_FOUND: there is no repository. Clear *commit
 * also on failure. */
enum zs_status zs_icechunk_find(const struct zs_icechunk_files *files, const char *wanted,
                                struct zs_icechunk_commit *commit, struct zs_error *err);
void zs_icechunk_commit_clear(struct zs_icechunk_commit *commit);
/* Microseconds since 1970 as "2026-09-01T00:00:00.000000Z". NULL without memory. */
char *zs_icechunk_time_print(uint64_t time);

/* ---- Snapshots (snapshot.c) ---- */

struct zs_icechunk_array {
    char *path;              /* "" for the root */
    const unsigned char *id; /* of the node */
    struct zs_flat_vector manifests;
    int ndim;                   /* in the snapshot */
    struct zs_array_meta *keys; /* how chunk keys are spelt; read with the first chunk */
    bool is_loaded;             /* its manifest and those of coordinates beside it were asked for */
};

struct zs_icechunk_snapshot {
    struct zs_cache_entry *file; /* NULL where nothing was committed */
    uint64_t flushed_at;         /* microseconds since 1970 */
    struct zs_flat_vector message;
    struct zs_flat_vector files; /* manifests */
    bool files_are_structs;      /* as in version 1 */
    zs_json *root;               /* the root's document; its consolidated metadata are the others */
    zs_json *documents;          /* these, by path: owned until they are in the root's */
    struct zs_icechunk_array *arrays; /* sorted by path */
    size_t count, capacity;
};

/* A manifest as the snapshot's list has it. */
struct zs_icechunk_manifest {
    const unsigned char *id; /* NULL: it is not listed */
    uint64_t size, refs;
};

/* Reads a snapshot ("": the empty one before the first commit) and checks all that it declares about its nodes. Close
 * it also on failure. */
enum zs_status zs_icechunk_snapshot_open(const struct zs_icechunk_files *files, const char *id,
                                         struct zs_icechunk_snapshot *snapshot, struct zs_error *err);
void zs_icechunk_snapshot_close(struct zs_icechunk_snapshot *snapshot);
/* The document of the node whose path is the first n bytes of `path`, and the array; NULL when there is none. */
const zs_json *zs_icechunk_snapshot_document(const struct zs_icechunk_snapshot *snapshot, const char *path, size_t n);
struct zs_icechunk_array *zs_icechunk_snapshot_array(const struct zs_icechunk_snapshot *snapshot, const char *path,
                                                     size_t n);
/* The id of the manifest with the chunk at a position; NULL for a chunk that is fill value. */
const unsigned char *zs_icechunk_snapshot_find(const struct zs_icechunk_array *array, const uint64_t *index);
/* The manifests, of at most `most_bytes` each, of arrays with at most one dimension in the group of `array`:
 * coordinates, which are read together. Fills ids[most] and returns their number. */
size_t zs_icechunk_snapshot_coordinates(const struct zs_icechunk_snapshot *snapshot,
                                        const struct zs_icechunk_array *array, uint64_t most_bytes,
                                        const unsigned char **ids, size_t most);
/* Finds a manifest in the snapshot's list by its id. */
struct zs_icechunk_manifest zs_icechunk_snapshot_manifest(const struct zs_icechunk_snapshot *snapshot,
                                                          const unsigned char *id);

/* ---- Manifests (manifest.c) ---- */

/* Location of a chunk's bytes: in the manifest (bytes), in an object of the repository (chunk_id), or, which is
 * not read, in an object elsewhere (a URL: a "virtual" chunk). */
struct zs_icechunk_ref {
    uint64_t size;
    const unsigned char *bytes;    /* NULL: in an object */
    uint64_t offset;               /* in the object */
    const unsigned char *chunk_id; /* NULL: elsewhere */
    struct zs_flat_vector location, compressed_location; /* one of them: the URL */
};

/* Checks all references of a manifest, and their order. */
enum zs_status zs_icechunk_manifest_check(struct zs_icechunk_file *file, struct zs_error *err);
/* Finds the reference of the chunk at `index` of the array of a node. *is_there is false for a chunk that is fill
 * value. */
enum zs_status zs_icechunk_manifest_find(struct zs_icechunk_file *file,
                                         const unsigned char node[ZS_ICECHUNK_NODE_ID_BYTES], const uint64_t *index,
                                         int ndim, bool *is_there, struct zs_icechunk_ref *ref, struct zs_error *err);
/* The URL of a virtual reference; freed with free(). NULL where it cannot be read. */
char *zs_icechunk_manifest_location(struct zs_icechunk_file *file, const struct zs_icechunk_ref *ref);
