/* layouts.h: arrays of one object, for targets that put anyone's bytes in its place. */
#ifndef FUZZ_LAYOUTS_H
#define FUZZ_LAYOUTS_H

#include <stdio.h>
#include <stdlib.h>

#include "array/array.h"
#include "fuzz.h"

#define SIDE 8
#define KEY "c/0/0"
#define BARE_INDEX ",\"index_codecs\":[\"bytes\"]"
#define START ",\"index_location\":\"start\""
#define SHARD(shape, codecs, more) \
    "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape ",\"codecs\":[" codecs "]" more "}}"

/* The node of SIDE x SIDE uint16 in an object of these codecs, made once and kept in *node. */
static inline struct zs_node *node_of(const char *codecs, struct zs_node **node)
{
    static const char document[] =
        "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[8,8],\"data_type\":\"uint16\",\"fill_value\":0,"
        "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[8,8]}},"
        "\"chunk_key_encoding\":\"default\",\"codecs\":[%s]}";
    char text[2000];
    struct zs_error err;
    zs_json *json;
    if (*node != NULL)
        return *node;
    (void)snprintf(text, sizeof text, document, codecs);
    if (zs_json_parse(text, strlen(text), &json, &err) != ZS_OK || zs_node_create("", json, true, node, &err) != ZS_OK)
        abort();
    return *node;
}

/* Reads a part; every failure says where. */
static inline enum zs_status read_box(struct zs_array *a, uint64_t y, uint64_t x, uint64_t h, uint64_t w, uint16_t *out)
{
    struct zs_error err = {""};
    const enum zs_status status = zs_array_read(a, (uint64_t[]){y, x}, (uint64_t[]){h, w}, out, &err);
    if (status != ZS_OK && strstr(err.message, "memory/" KEY) == NULL)
        abort();
    return status;
}

#endif
