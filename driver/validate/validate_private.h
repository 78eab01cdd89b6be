/* validate/validate_private.h: what the files of this room share. */
#pragma once

#include <pthread.h>

#include "array/grid.h"
#include "geo/axes.h"
#include "shard/range_plan.h"
#include "shard/walk.h"
#include "validate/validate.h"
#include "zarr/document.h"
#include "zarr/hierarchy.h"

/* An array whose chunks are to be checked. */
struct zs_checked_array {
    const struct zs_node *node;
    struct zs_chain chain;
    struct zs_grid grid;
    uint64_t grid_count; /* stored objects that there may be */
    bool is_listed;             /* else any object of the grid may be there */
    uint64_t *objects;          /* linear numbers of those that are, sorted */
    size_t object_count, object_capacity;
};

/* One run. */
struct zs_check {
    struct zs_store *store;
    struct zs_hierarchy *hierarchy; /* each node by its own document: consolidated metadata are not used */
    const struct zs_validate_options *options;
    int threads;
    uint64_t memory;

    /* with a document of their own, in the order of the walk: groups before what is in them */
    const struct zs_node **nodes;
    size_t node_count, node_capacity;
    bool is_listed; /* the store can be listed, so nodes are all there are */
    struct zs_checked_array **arrays;
    size_t array_count, array_capacity;

    pthread_mutex_t lock; /* of all below, and held while a callback runs */
    struct zs_validate_summary *summary;
    double units, units_done; /* of progress: objects */
    bool is_cancelled;
};

/* Reports; `expected` and `found` may be NULL together. `where` is a key. From any thread. */
void zs_report(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
               const char *expected, const char *found);
/* Like zs_report(), with numbers. */
void zs_report_numbers(struct zs_check *check, enum zs_severity severity, const char *where, const char *what,
                       uint64_t expected, uint64_t found);
/* Reports a failure of the core at `where`: an error where bytes or metadata are wrong, unchecked where it could not
 * look. What is no matter of the store (ZS_NO_MEMORY, ZS_CANCELLED) is handed back, all else is ZS_OK: the check goes
 * on. */
enum zs_status zs_report_failure(struct zs_check *check, const char *where, enum zs_status status,
                                 struct zs_error *err);
/* Like zs_report_failure(), for coordinates that are read to be compared: broken chunks are findings of the check of
 * chunks. */
enum zs_status zs_report_unread(struct zs_check *check, const char *where, enum zs_status status, struct zs_error *err);

/* Adds to progress and to the counts of chunks. ZS_CANCELLED when the caller asked to stop. */
enum zs_status zs_check_advance(struct zs_check *check, double units, uint64_t chunks, uint64_t bytes,
                                struct zs_error *err);

/* ---- walk.c: which nodes there are, and which objects ---- */

/* Fills nodes and arrays of `check`; reports documents that are none, and objects that belong to nothing. */
enum zs_status zs_walk_store(struct zs_check *check, struct zs_error *err);

/* ---- Of one node or group each, once all are known. What is wrong is reported; ZS_NO_MEMORY, ZS_CANCELLED or ZS_OK
 * ---- */

/* Against the specification. `key` is the document's; *has_errors: something was reported that makes it invalid. */
enum zs_status zs_check_document(struct zs_check *check, const struct zs_node *node, const char *key, bool *has_errors,
                                 struct zs_error *err);
enum zs_status zs_check_consolidated(struct zs_check *check, const struct zs_node *group, struct zs_error *err);
/* Members of the conventions, each for itself. */
enum zs_status zs_check_conventions(struct zs_check *check, const struct zs_node *node, struct zs_error *err);
/* Levels that a group lists, against what they are derived from. */
enum zs_status zs_check_pyramids(struct zs_check *check, const struct zs_node *group, struct zs_error *err);
/* Transforms, bounding boxes, coordinate variables and CRS of an array against each other. */
enum zs_status zs_check_georef(struct zs_check *check, const struct zs_node *node, struct zs_error *err);

/* ---- holes.c: objects that ought to be stored and are not; needs the arrays' objects to be listed ---- */

/* Sorts the listed objects of an array by their chunks, for the functions below. */
void zs_checked_array_sort(struct zs_checked_array *array);
/* Chunks of a coordinate variable; other arrays are passed over. */
enum zs_status zs_check_coordinate_chunks(struct zs_check *check, const struct zs_checked_array *array,
                                          struct zs_error *err);
/* How an overview is made of its base. */
struct zs_shrink {
    double factor[ZS_MAX_NDIM]; /* pixels of the base for one, along X and Y */
    bool is_exact;              /* from those pixels and no others: by NEAREST or AVERAGE */
};
/* Objects of the base under pixels of `small`, an overview of as many dimensions and of the same type. */
enum zs_status zs_check_holes(struct zs_check *check, const struct zs_node *base, const struct zs_node *small,
                              struct zs_axes axes, const struct zs_shrink *shrink, struct zs_error *err);

/* ---- objects.c: the objects of one array, side by side; chunks.c: what is in one ---- */

/* Reads and decodes every stored object of an array, and reports what is wrong with it. Fails only without memory, or
 * interrupted (ZS_CANCELLED). */
enum zs_status zs_check_objects(struct zs_check *check, const struct zs_checked_array *array, struct zs_error *err);

/* ---- What is in one stored object: indexes, inner chunks, at every level of nesting (chunks.c) ---- */

/* A chunk of some level. */
struct zs_checked_chunk {
    struct zs_source bytes;       /* encoded */
    uint64_t origin[ZS_MAX_NDIM]; /* its first element, from that of the stored object */
};

/* A shard whose index was read. */
struct zs_checked_shard {
    int level; /* in the array's chain */
    struct zs_checked_chunk chunk;
    /* of the inner chunks that are stored and lie in the shard, by offset; tag: number in the index */
    struct zs_range *ranges;
    size_t range_count;
    struct zs_range_group *groups; /* what is fetched together */
    size_t group_count;
};

/* One stored object, and what is known of it. */
struct zs_checked_object {
    struct zs_check *c;
    const struct zs_checked_array *array;
    const struct zs_level *levels; /* of this object */
    struct zs_level *own_levels;   /* freed with it; NULL where they are the array's */
    char *key;
    struct zs_object *object; /* NULL: absent, or not to be had */
    bool is_shard;            /* its groups are checked one by one: */
    struct zs_checked_shard shard;
};

/* Opens object `number` of the array, and reads its index where it is a shard whose chunks can be had one by one. What
 * is wrong with it is reported, not returned: ZS_NO_MEMORY and ZS_CANCELLED only, here and below. Released with
 * zs_checked_object_close(), also on failure. */
enum zs_status zs_checked_object_open(struct zs_check *check, const struct zs_checked_array *array, uint64_t number,
                                      struct zs_checked_object *object, struct zs_error *err);
/* Pieces of work in it that may be done side by side: groups of a shard, or the object as a whole. */
size_t zs_checked_object_tasks(const struct zs_checked_object *object);
enum zs_status zs_checked_object_check(const struct zs_checked_object *object, size_t task, struct zs_error *err);
void zs_checked_object_close(struct zs_checked_object *object);
