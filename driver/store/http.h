/* store/http.h: objects of a store in GDAL's virtual file systems (vsi.h) read by plain GET requests. */
#pragma once

#include "store/vsi.h"

/* What the requests of a store share: connections, and whether they are answered. *http = NULL where the objects below
 * a path cannot be read so. */
enum zs_status zs_http_create(const char *path, struct zs_http **http, struct zs_error *err);
void zs_http_free(struct zs_http *http); /* NULL is allowed */

/* As struct zs_store_ops says. Where plain requests are refused, VSI opens the object, and those that follow. */
enum zs_status zs_http_open(struct vsi_object *object, const char *key, struct zs_first_read *first,
                            struct zs_error *err);
enum zs_status zs_http_read(struct vsi_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err);
void zs_http_forget(struct zs_http *http, const char *root, const char *key);

/* How a request ended. */
enum zs_http_kind {
    ZS_HTTP_PART,     /* 206: bytes first to last of total */
    ZS_HTTP_WHOLE,    /* 200: all bytes */
    ZS_HTTP_ABSENT,   /* 404, 410 */
    ZS_HTTP_REPLACED, /* 412 */
    ZS_HTTP_BEYOND,   /* 416: the range is outside; total may be known */
    ZS_HTTP_TOO_LONG, /* more than was asked for: the range was not understood */
    ZS_HTTP_REFUSED,  /* another 4xx, 501, and a path that has no URL */
    ZS_HTTP_FAILED    /* the server, the network, or an answer that contradicts itself */
};

/* Requests the URL behind any path of GDAL's and returns its status alone, which VSI's files do not give.
 * ZS_HTTP_REFUSED where the path has no URL, ZS_HTTP_BEYOND for an object without bytes. `found`, of `n` bytes (0:
 * NULL), gets the server's answer, for a message. */
enum zs_http_kind zs_http_probe(const char *path, char *found, size_t n);

/* The value of GDAL_HTTP_HEADERS for this path with one more line, without commas. NULL without memory, freed with
 * free(). */
char *zs_http_headers_with(const char *path, const char *line);
