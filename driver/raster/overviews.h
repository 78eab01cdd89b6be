/* raster/overviews.h: smaller versions of an array, by the conventions that link them: found, made and removed. */
#pragma once

#include "array/array.h"
#include "geo/axes.h"

/* Levels of an array, borrowed from its hierarchy. */
#define ZS_MOST_LEVELS 128
struct zs_levels {
    const struct zs_node *list[ZS_MOST_LEVELS];
    size_t count;
};

/* Finds the overviews of the array `node`: `multiscales` convention (of its group or its group's group; levels that are
 * groups with an array of the base's name, or arrays), OME-NGFF 0.5 datasets. A level counts when it is a readable
 * array of the same data type and number of dimensions, whose X and Y are the base's by one factor (the N of its group
 * ovr_<N>x), whose other dimensions are equal, whose shape, and that of the base, is that of its layout entry where
 * that has one, and from which the base is not itself derived (an upsampled level has no overviews of its own that
 * way). A level that does not count only because the base was given another shape is outdated: it is not read, and is
 * removed when overviews are made or removed. Of HEALPix cells (axes.y -1) the levels are the same cells at coarser
 * orders, one for each, also in groups beside each other that are called by consecutive orders (zagg).
 *
 * Sorted from large to small. The base itself may be any level; only smaller ones are its overviews. A node that
 * cannot be asked for (network, disk) is an error; one that is absent, broken or of a kind that is not known is no
 * overview. */
enum zs_status zs_overviews_find(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                 struct zs_levels *levels, struct zs_error *err);

/* Like zs_overviews_find(), only of listed levels in a group ovr_<N>x beside the array, under its name, outdated ones
 * too: they are removed with the array. */
enum zs_status zs_overviews_own(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                struct zs_levels *levels, struct zs_error *err);

/* Sets marks[i] of each of nodes[count] (all known nodes of a store, in order) that is an overview of another one,
 * current or outdated. */
enum zs_status zs_overviews_mark(struct zs_hierarchy *hierarchy, const struct zs_node *const *nodes, size_t count,
                                 bool *marks, struct zs_error *err);

/* ---- Making (overviews_make.c). As in raster/update.h: nobody else may use the hierarchy meanwhile. ---- */

/* Finds the chunks that a shard of an array is made of (of nested shards the outermost). False when it is not
 * sharded. */
bool zs_inner_chunks(const struct zs_array_meta *meta, uint64_t *chunk);

/* Overviews of one array that are being written. */
struct zs_overviews;

/* Sets up one level for each of factors[count] (2 and more, no two alike): an array of the size divided by
 * the factor in X and Y and rounded up, in the group ovr_<N>x beside the array, under its name, of the same data type,
 * codecs, chunks and other dimensions; X and Y are called as the base's with `_<N>x` at the end, because in xarray's
 * DataTree a dimension of the groups above must have its size and coordinates in those below, too; shards are cut to
 * the whole chunks that are needed. Where the array has an overview of exactly that size already, whatever it is
 * called, that one is written to instead, shard by shard: each is its old or its new self at every moment, in every
 * store, and metadata do not change. Outdated levels are removed first, which flushes the hierarchy. Whatever else is
 * at the path of a level or of its group, whether or not consolidated metadata list it, is ZS_ARGUMENT and stays. The
 * properties (nodata, scale, bands ...) and the georeferencing are those of the array, the latter in the conventions it
 * uses. `resampling`, in the words of the multiscales convention ("average", "nearest"), may be NULL; `chunk_order` is
 * zs_array_chunk_order() of the array, 0 where it is not known. No document of a new level is in the store yet.
 * ZS_ARGUMENT: a factor below 2, the array at the root of the store (there is no group for the levels), or
 * axes.y < 0. */
enum zs_status zs_overviews_create(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                   const int *factors, size_t count, const char *resampling, int chunk_order,
                                   const struct zs_array_options *options, struct zs_overviews **overviews,
                                   struct zs_error *err);

/* Level i, in the order of factors: its array, to write pixels to, and its node. The array is borrowed until
 * zs_overviews_free(); the node until then, and after zs_overviews_publish() as long as the hierarchy. */
struct zs_array *zs_overviews_array(const struct zs_overviews *overviews, size_t i);
const struct zs_node *zs_overviews_node(const struct zs_overviews *overviews, size_t i);

/* Flushes the levels' arrays, writes their documents and X and Y, and last the group's `multiscales`, which lists them
 * and the levels there were before, and the consolidated metadata above. Other changes of the hierarchy that were not
 * flushed yet are written as well. Once. */
enum zs_status zs_overviews_publish(struct zs_overviews *overviews, struct zs_error *err);

/* Closes the arrays. Of levels that were not published only chunks stay in the store. NULL is allowed. */
void zs_overviews_free(struct zs_overviews *overviews);

/* Removes all overviews of the array that zs_overviews_own() names, at the next flush: first their mention in
 * `multiscales` and the consolidated metadata, then documents, then chunks. The group of a level goes with it where
 * nothing else is in it; a group that cannot be looked into is an error. Levels elsewhere (OME-NGFF, GeoZarr pyramids)
 * are data of their own and stay. No array of those levels may be open. */
enum zs_status zs_overviews_take_out(struct zs_hierarchy *hierarchy, const struct zs_node *node, struct zs_axes axes,
                                     struct zs_error *err);
