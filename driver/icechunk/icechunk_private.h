/* icechunk/icechunk_private.h: what the files of this room share. */
#pragma once

#include "base/cache.h"
#include "icechunk/icechunk.h"
#include "zarr/node.h"

/* ---- FlatBuffers (flatbuffer.c), read in place (flatbuffers.dev, "FlatBuffers Internals"). The bytes are hostile:
 * each offset is checked when it is followed. Nothing relies on alignment. ---- */

/* One buffer; the bytes are borrowed. */
struct zs_flat {
    const unsigned char *data;
    size_t size;
};
struct zs_flat_table {
    const struct zs_flat *of; /* NULL: there is none */
    size_t at, vtable, fields, size;
    unsigned wrong; /* 1 + the number of a field that is needed and absent, or leads out of the buffer; 0: none */
};
struct zs_flat_vector {
    const struct zs_flat *of;  /* NULL: there is none */
    const unsigned char *data; /* `count` elements; also the bytes of a string */
    size_t count;
};

struct zs_flat_table zs_flat_root(const struct zs_flat *flat);
/* Element `index` < count of a vector of tables. */
struct zs_flat_table zs_flat_element(const struct zs_flat_vector *vector, size_t index);

/* Read a field of a table, counted from 0 as in its schema, where a union takes two; zs_flat_check() says afterwards
 * whether all was well. An absent one is 0, NULL, or of NULL. */
uint64_t zs_flat_number(struct zs_flat_table *table, unsigned id, size_t size);
const unsigned char *zs_flat_struct(struct zs_flat_table *table, unsigned id, size_t size, bool is_needed);
struct zs_flat_table zs_flat_table(struct zs_flat_table *table, unsigned id);
/* `size` is that of an element, 4 for tables and strings. */
struct zs_flat_vector zs_flat_vector(struct zs_flat_table *table, unsigned id, size_t size, bool is_needed);
/* ZS_CORRUPT where there is no such table, or a field that was read is wrong. */
enum zs_status zs_flat_check(const struct zs_flat_table *table, struct zs_error *err);

/* ---- Files (file.c) ---- */

#define ZS_ICECHUNK_ID_BYTES 12
/* An id in Crockford's Base32, zero-terminated. */
#define ZS_ICECHUNK_ID_TEXT 21

void zs_icechunk_id_print(const unsigned char id[ZS_ICECHUNK_ID_BYTES], char text[ZS_ICECHUNK_ID_TEXT]);
bool zs_icechunk_is_id(const char *text);
/* A string of a file as text, freed with free(). NULL where it is absent, no UTF-8, or has control characters, and
 * without memory. */
char *zs_icechunk_text(const struct zs_flat_vector *vector);

enum zs_icechunk_type { ZS_ICECHUNK_SNAPSHOT = 1, ZS_ICECHUNK_MANIFEST = 2, ZS_ICECHUNK_INFO = 6 };

/* The value of a cache's entry. */
struct zs_icechunk_file {
    struct zs_flat flat;
    struct zs_buffer bytes;
};

/* The files of a repository. */
struct zs_icechunk_files {
    struct zs_store *store; /* borrowed */
    uint64_t space;         /* of the keys in the process's cache; unique where files are not to be remembered */
};

void zs_icechunk_files_init(struct zs_icechunk_files *files, struct zs_store *store);

/* Reads a file; freed with zs_icechunk_file_free(). ZS_NOT_FOUND where there is none. */
enum zs_status zs_icechunk_file_read(struct zs_store *store, const char *key, enum zs_icechunk_type type,
                                     struct zs_icechunk_file **file, struct zs_error *err);
void zs_icechunk_file_free(void *file); /* NULL is allowed */

/* Gets a snapshot or manifest by its id, which the file must have too. It is pinned in the process's cache: release it
 * with zs_cache_release(). `absent` is the status where it is not there. */
enum zs_status zs_icechunk_file_get(const struct zs_icechunk_files *files, enum zs_icechunk_type type, const char *id,
                                    enum zs_status absent, struct zs_cache_entry **entry, struct zs_error *err);

/* ---- Commits (commit.c) ---- */

struct zs_icechunk_commit {
    char id[ZS_ICECHUNK_ID_TEXT]; /* "": nothing was committed */
    bool has_info;                /* the repository is of version 2, with one object for its history */
    struct zs_names items;        /* of zs_icechunk_items(); free items.list with zs_names_free(), also on failure */
};

/* Finds the commit that stands behind "?" in the name of a store. ZS_NOT_FOUND: there is no repository. */
enum zs_status zs_icechunk_find(const struct zs_icechunk_files *files, const char *wanted,
                                struct zs_icechunk_commit *commit, struct zs_error *err);

/* ---- Manifests (store.c) ---- */

/* Checks that the references of each array are in order, of a file that is read: the search would take one that is not
 * for an absent chunk. */
enum zs_status zs_icechunk_manifest_check(const struct zs_icechunk_file *file, struct zs_error *err);
