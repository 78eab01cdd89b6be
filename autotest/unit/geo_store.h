/* geo_store.h: stores in memory for the tests of driver/geo, written in a line per node. */
#ifndef GEO_STORE_H
#define GEO_STORE_H

#include <stdlib.h>

#include "check.h"
#include "memory_store.h"
#include "raster/overviews.h"

struct geo_store {
    struct zs_store *store;
    struct zs_hierarchy *h;
};

static inline void put(struct geo_store *s, const char *key, const void *data, size_t n)
{
    struct zs_error err;
    if (s->store == NULL)
        CHECK(zs_store_open_memory(&s->store, &err) == ZS_OK);
    CHECK(zs_store_put(s->store, key, data, n, &err) == ZS_OK);
}

static inline void put_document(struct geo_store *s, const char *path, char *text)
{
    char *key = zs_format("%s%szarr.json", path, path[0] != '\0' ? "/" : "");
    put(s, key, text, strlen(text));
    free(key);
    free(text);
}

/* A group; attributes as JSON text, with ' for ". */
static inline void put_group(struct geo_store *s, const char *path, const char *attributes)
{
    char *text = zs_format("{'zarr_format':3,'node_type':'group','attributes':%s}", attributes);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    put_document(s, path, text);
}

/* An array of one chunk; shape, dimension names and attributes as JSON, with ' for ". The chunk is written by put(). */
static inline void put_array(struct geo_store *s, const char *path, const char *shape, const char *names,
                             const char *type, const char *fill, const char *attributes)
{
    char *text = zs_format("{'zarr_format':3,'node_type':'array','shape':%s,'dimension_names':%s,'data_type':'%s',"
                           "'fill_value':%s,'chunk_grid':{'name':'regular','configuration':{'chunk_shape':%s}},'chunk"
                           "_key_encoding':{'name':'default'},'codecs':[{'name':'bytes','configuration':{'endian':'li"
                           "ttle'}}],'attributes':%s}",
                           shape, names, type, fill, shape, attributes);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    put_document(s, path, text);
}

/* A one-dimensional float64 coordinate variable first, first + step, ... */
static inline void put_axis(struct geo_store *s, const char *path, const char *name, size_t n, double first,
                            double step, const char *attributes)
{
    double values[1000];
    for (size_t i = 0; i < n; i++)
        values[i] = first + (double)i * step;
    char *shape = zs_format("[%zu]", n), *names = zs_format("['%s']", name), *key = zs_format("%s/c/0", path);
    put_array(s, path, shape, names, "float64", "'NaN'", attributes);
    put(s, key, values, n * sizeof *values);
    free(shape);
    free(names);
    free(key);
}

static inline const struct zs_node *open_node(struct geo_store *s, const char *path)
{
    struct zs_error err = {""};
    const struct zs_node *node = NULL;
    if (s->h == NULL && !CHECK(zs_hierarchy_open(s->store, true, &s->h, &err) == ZS_OK)) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    if (!CHECK(zs_hierarchy_node(s->h, path, &node, &err) == ZS_OK)) {
        fprintf(stderr, "%s: %s\n", path, err.message);
        exit(1);
    }
    return node;
}

static inline void close_store(struct geo_store *s)
{
    zs_hierarchy_free(s->h);
    zs_store_free(s->store);
    memset(s, 0, sizeof *s);
}

#endif
