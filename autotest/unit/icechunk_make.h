/* icechunk_make.h: Icechunk repositories in memory, made byte by byte: a builder of FlatBuffers, and a small repository
 * with an array of two inline chunks, two in an object and two that have no reference. */
#ifndef ICECHUNK_MAKE_H
#define ICECHUNK_MAKE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

/* ---- FlatBuffers: what a table refers to follows it ---- */

struct flat {
    unsigned char data[4096];
    size_t size;
};

static inline size_t flat_put(struct flat *f, uint64_t value, size_t n)
{
    const size_t at = f->size;
    if (at + n > sizeof f->data)
        abort();
    for (size_t i = 0; i < n; i++)
        f->data[f->size++] = (unsigned char)(value >> (8 * i));
    return at;
}

static inline void flat_set(struct flat *f, size_t at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        f->data[at + i] = (unsigned char)(value >> (8 * i));
}

static inline size_t flat_bytes(struct flat *f, const void *data, size_t n)
{
    const size_t at = f->size;
    if (at + n > sizeof f->data)
        abort();
    if (n > 0)
        memcpy(f->data + at, data, n);
    f->size += n;
    return at;
}

/* A table of `count` fields of so many bytes, 0 for those that are absent; field i is at at[i]. Where it stands. */
static inline size_t flat_table(struct flat *f, const size_t *sizes, size_t count, size_t *at)
{
    const size_t vtable = flat_put(f, 4 + 2 * count, 2);
    size_t inside = 4;
    for (size_t i = 0; i < count; i++)
        inside += sizes[i];
    flat_put(f, inside, 2);
    inside = 4;
    for (size_t i = 0; i < count; i++) {
        flat_put(f, sizes[i] > 0 ? inside : 0, 2);
        inside += sizes[i];
    }
    const size_t table = flat_put(f, 0, 4);
    flat_set(f, table, table - vtable, 4);
    for (size_t i = 0, p = table + 4; i < count; p += sizes[i++])
        at[i] = p;
    for (size_t n = inside - 4; n > 0; n--)
        flat_put(f, 0, 1);
    return table;
}

/* Lets the offset at a place lead to what comes next. */
static inline void flat_here(struct flat *f, size_t at)
{
    flat_set(f, at, f->size - at, 4);
}

static inline void flat_vector(struct flat *f, size_t at, const void *data, size_t count, size_t size)
{
    flat_here(f, at);
    flat_put(f, count, 4);
    flat_bytes(f, data, count * size);
}

/* Of tables: `count` offsets, the first at the place that it returns. */
static inline size_t flat_tables(struct flat *f, size_t at, size_t count)
{
    flat_here(f, at);
    flat_put(f, count, 4);
    const size_t first = f->size;
    for (size_t i = 0; i < count; i++)
        flat_put(f, 0, 4);
    return first;
}

#define FLAT_TABLE(f, at, ...)                                                                                         \
    flat_table((f), (const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t), (at))

static inline void flat_point(struct flat *f, size_t at, size_t table)
{
    flat_set(f, at, table - at, 4);
}

/* ---- A repository ---- */

enum { ICE_REPO, ICE_SNAPSHOT, ICE_MANIFEST, ICE_FILES };
static const char *const ice_keys[ICE_FILES] = {"repo", "snapshots/041061050R3GG28A1C60",
                                                "manifests/4GJ2CB1N6WQGQ8HJ6D30"};

static const char ice_document[] =
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[12],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":"
    "\"regular\",\"configuration\":{\"chunk_shape\":[2]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":"
    "9,\"codecs\":[{\"name\":\"bytes\"}]}";
static const char ice_group[] = "{\"zarr_format\":3,\"node_type\":\"group\"}";

static inline void ice_begin(struct flat *f, unsigned char type, int version)
{
    static const unsigned char magic[12] = {0x49, 0x43, 0x45, 0xF0, 0x9F, 0xA7, 0x8A, 0x43, 0x48, 0x55, 0x4E, 0x4B};
    f->size = 0;
    flat_bytes(f, magic, sizeof magic);
    flat_bytes(f, "made by a test          ", 24);
    flat_put(f, (uint64_t)version, 1);
    flat_put(f, type, 1);
    flat_put(f, 0, 1);
    flat_put(f, 0, 4); /* the offset of the root, at 39 */
}

static const unsigned char ice_ids[3][12] = {{0},
                                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                                             {0x24, 0x24, 0x26, 0x2C, 0x35, 0x37, 0x2F, 0x0B, 0xA2, 0x32, 0x33, 0x46}};
static const unsigned char ice_node[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static inline void ice_make_repo(struct flat *f)
{
    size_t at[12], ref[2], info[4], status[3];
    ice_begin(f, 6, 2);
    flat_point(f, 39, FLAT_TABLE(f, at, 1, 4, 4, 4, 4, 4, 0, 4));
    flat_set(f, at[0], 2, 1);
    const size_t tag = flat_tables(f, at[1], 1);
    flat_point(f, tag, FLAT_TABLE(f, ref, 4, 4));
    flat_vector(f, ref[0], "v1", 2, 1);
    const size_t branch = flat_tables(f, at[2], 1);
    flat_vector(f, at[3], NULL, 0, 4);
    const size_t snapshot = flat_tables(f, at[4], 1);
    flat_point(f, branch, FLAT_TABLE(f, ref, 4, 4));
    flat_vector(f, ref[0], "main", 4, 1);
    flat_point(f, snapshot, FLAT_TABLE(f, info, 12, 4, 8, 4));
    flat_set(f, info[1], UINT32_MAX, 4);
    memcpy(f->data + info[0], ice_ids[1], 12);
    flat_vector(f, info[3], "made", 4, 1);
    flat_point(f, at[5], FLAT_TABLE(f, status, 1, 8, 0));
    flat_vector(f, at[7], NULL, 0, 4);
}

static inline void ice_make_snapshot(struct flat *f)
{
    size_t at[8], node[5], data[4], shape[2], manifest[2], file[3];
    const uint32_t extent[2] = {0, 6};
    ice_begin(f, 1, 2);
    flat_point(f, 39, FLAT_TABLE(f, at, 12, 0, 4, 8, 4, 4, 4, 4));
    memcpy(f->data + at[0], ice_ids[1], 12);
    const size_t nodes = flat_tables(f, at[2], 2);
    flat_vector(f, at[4], "made", 4, 1);
    flat_vector(f, at[5], NULL, 0, 4);
    flat_vector(f, at[6], NULL, 0, 32);
    const size_t files = flat_tables(f, at[7], 1);
    flat_point(f, nodes, FLAT_TABLE(f, node, 8, 4, 4, 1, 4));
    flat_vector(f, node[1], "/", 1, 1);
    flat_vector(f, node[2], ice_group, strlen(ice_group), 1);
    flat_set(f, node[3], 2, 1);
    flat_point(f, node[4], FLAT_TABLE(f, data, 0));
    flat_point(f, nodes + 4, FLAT_TABLE(f, node, 8, 4, 4, 1, 4));
    memcpy(f->data + node[0], ice_node, 8);
    flat_vector(f, node[1], "/t2m", 4, 1);
    flat_vector(f, node[2], ice_document, strlen(ice_document), 1);
    flat_set(f, node[3], 1, 1);
    flat_point(f, node[4], FLAT_TABLE(f, data, 4, 0, 4, 4));
    flat_vector(f, data[0], NULL, 0, 16);
    const size_t manifests = flat_tables(f, data[2], 1), shapes = flat_tables(f, data[3], 1);
    flat_point(f, shapes, FLAT_TABLE(f, shape, 8, 4));
    flat_set(f, shape[0], 12, 8);
    flat_set(f, shape[1], 6, 4);
    flat_point(f, manifests, FLAT_TABLE(f, manifest, 12, 4));
    memcpy(f->data + manifest[0], ice_ids[2], 12);
    flat_vector(f, manifest[1], extent, 1, sizeof extent);
    flat_point(f, files, FLAT_TABLE(f, file, 12, 8, 4));
    memcpy(f->data + file[0], ice_ids[2], 12);
    flat_set(f, file[2], 4, 4);
}

/* Chunks 0 and 2 are inline, 1 and 4 in an object, 3 and 5 nowhere. */
static inline void ice_make_manifest(struct flat *f)
{
    size_t at[4], array[2], ref[5];
    const uint32_t indices[4] = {0, 1, 2, 4};
    ice_begin(f, 2, 2);
    flat_point(f, 39, FLAT_TABLE(f, at, 12, 4, 0, 1));
    memcpy(f->data + at[0], ice_ids[2], 12);
    const size_t arrays = flat_tables(f, at[1], 1);
    flat_point(f, arrays, FLAT_TABLE(f, array, 8, 4));
    memcpy(f->data + array[0], ice_node, 8);
    const size_t refs = flat_tables(f, array[1], 4);
    for (size_t i = 0; i < 4; i++) {
        const bool is_inline = i % 2 == 0;
        if (is_inline)
            flat_point(f, refs + 4 * i, FLAT_TABLE(f, ref, 4, 4, 0, 0, 0));
        else
            flat_point(f, refs + 4 * i, FLAT_TABLE(f, ref, 4, 0, 8, 8, 12));
        flat_vector(f, ref[0], &indices[i], 1, 4);
        if (is_inline) {
            flat_vector(f, ref[1], (const unsigned char[]){(unsigned char)(10 * i), (unsigned char)(10 * i + 1)}, 2, 1);
        } else {
            flat_set(f, ref[2], i, 8);
            flat_set(f, ref[3], 2, 8);
        }
    }
}

static const unsigned char ice_values[12] = {0, 1, 101, 102, 20, 21, 9, 9, 103, 104, 9, 9};
static const unsigned char ice_chunk[5] = {100, 101, 102, 103, 104};

/* Puts such a repository into a store, with other bytes for one of its files where `other` is not NULL. False where
 * the store takes none. */
static inline bool ice_put(struct zs_store *store, int which, const void *other, size_t n)
{
    static void (*const make[ICE_FILES])(struct flat *) = {ice_make_repo, ice_make_snapshot, ice_make_manifest};
    struct zs_error err;
    for (int i = 0; i < ICE_FILES; i++) {
        struct flat f;
        make[i](&f);
        const bool is_other = other != NULL && i == which;
        if (zs_store_put(store, ice_keys[i], is_other ? other : f.data, is_other ? n : f.size, &err) != ZS_OK)
            return false;
    }
    return zs_store_put(store, "chunks/00000000000000000000", ice_chunk, sizeof ice_chunk, &err) == ZS_OK;
}

#endif
