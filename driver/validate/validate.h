/* validate/validate.h: checks whether a store agrees with its metadata: documents, consolidated metadata, levels that
 * are listed, shard indexes, every chunk, and what belongs to nothing. A program over the rooms, and the library that
 * it is made of.
 *
 * Readers look at what they are asked for, and pass over much that is odd. This looks at everything, and reports what
 * another reader, or this one at another window, would stumble over. Nothing is changed. What it cannot find: bytes
 * that were changed and still decode where neither the codecs nor the chunks carry a checksum (blosc, zstd by default,
 * raw bytes). */
#pragma once

#include <pthread.h>

#include "array/array.h"

enum zs_severity {
    ZS_SEVERITY_NOTE,      /* as it may be, and good to know: dead bytes */
    ZS_SEVERITY_WARNING,   /* odd, or in the way; pixels and metadata read as they should */
    /* could not be looked at: refused, of a kind that this build does not handle, too large for the budget */
    ZS_SEVERITY_UNCHECKED,
    ZS_SEVERITY_ERROR      /* against the specification or a convention, or contradicts something else in the store */
};

struct zs_validate_options {
    uint64_t memory;    /* bytes for encoded and decoded chunks. A chunk of more is not checked */
    bool metadata_only; /* documents alone */
    bool is_quiet;      /* notes and the summary are not printed */
};

/* Checks the store at `path` (any GDAL virtual file system path), and prints a line for each finding, and a summary.
 * Returns the exit code for scripts: 1 when there are errors (that there is no store is one), else 2 when something
 * could not be checked, else 0. Warnings do not count. */
int zs_validate(const char *path, const struct zs_validate_options *options);

/* ---- Inside: what the files of this program share ---- */

/* One run. */
struct zs_check {
    struct zs_store *store;
    struct zs_hierarchy *hierarchy; /* each node by its own document: consolidated metadata are not used */
    const char *name; /* of the store, as it was given */
    const struct zs_validate_options *options;
    uint64_t memory; /* of these */

    const struct zs_node **nodes; /* groups before what is in them */
    size_t node_count;
    bool is_listed; /* the store can be listed, so nodes are all there are */

    pthread_mutex_t lock; /* of all below, and held while a finding is printed */
    uint64_t findings[ZS_SEVERITY_ERROR + 1]; /* by severity */
    uint64_t groups, arrays;                  /* that have a zarr.json */
    uint64_t objects, chunks; /* stored objects read; innermost chunks decoded */
    uint64_t bytes;           /* that these chunks have decoded */
    uint64_t dead_bytes;      /* in shards, of no index and of no chunk that one names */
};

/* Functions that fail return ZS_NO_MEMORY or ZS_OK: what is wrong with the store is reported. */

/* Reports; `expected` and `found` may be NULL together. `where` is a key. From any thread. */
void zs_report(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
               const char *expected, const char *found);
/* Like zs_report(), with numbers. */
void zs_report_numbers(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
                       uint64_t expected, uint64_t found);
/* Reports a failure of the core at `where`: an error where bytes or metadata are wrong, unchecked where it could not
 * look. */
enum zs_status zs_report_failure(struct zs_check *check, const char *where, enum zs_status status,
                                 struct zs_error *err);
/* Counts an object that was read, or chunks that were decoded, with their bytes. */
void zs_check_count(struct zs_check *check, uint64_t objects, uint64_t chunks, uint64_t bytes);

/* ---- documents.c: of one node ---- */

/* Against the specification, as far as reading it did not. */
void zs_check_document(struct zs_check *check, const struct zs_node *node);
/* The consolidated metadata of a group against the documents of its nodes: a cache, which must equal them (zarr-specs
 * #373). */
enum zs_status zs_check_consolidated(struct zs_check *check, const struct zs_node *group, struct zs_error *err);
/* The levels that a group lists are there. */
void zs_check_levels(struct zs_check *check, const struct zs_node *group);

/* ---- walk.c: which objects there are, and which belong to nothing ---- */

/* An array whose chunks are to be checked. */
struct zs_checked_array {
    struct zs_check *check;
    const struct zs_node *node;
    struct zs_array *array; /* NULL: it cannot be opened, which was reported */
    uint64_t grid_count; /* stored objects that there may be */
    bool is_listed;      /* else any object of the grid may be there */
    uint64_t *objects;   /* linear numbers of those that are */
    size_t object_count, object_capacity;
};

/* Finds the nodes, in nodes of `check`. */
enum zs_status zs_walk_store(struct zs_check *check, struct zs_error *err);
/* What is in the folder of a group and no node. */
enum zs_status zs_walk_group(struct zs_check *check, const struct zs_node *group, struct zs_error *err);
/* Opens the array and finds its objects. Clear it in any case. */
enum zs_status zs_checked_array_open(struct zs_check *check, const struct zs_node *node,
                                     struct zs_checked_array *array, struct zs_error *err);
void zs_checked_array_clear(struct zs_checked_array *array);

/* ---- chunks.c ---- */

/* Reads and decodes every stored object of an array. */
enum zs_status zs_check_objects(struct zs_checked_array *array, struct zs_error *err);
