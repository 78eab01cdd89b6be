/* store/vsi.h: GDAL's virtual file systems: their paths, their errors and settings, and a store in them. Outside gdal/
 * only the files vsi*.c include cpl_vsi.h. */
#pragma once

#include <pthread.h>

#include "base/limits.h"
#include "store/store.h"

/* ---- Kinds of paths (vsi_paths.c) ---- */

/* The kind of storage of a path, by GDAL's prefixes. Where one prefix looks into another file, that file's path
 * decides. */
struct zs_path_kind {
    bool is_local;    /* a path of the operating system, not of a virtual file system */
    bool is_memory;   /* /vsimem/ */
    bool is_archive;  /* in an archive, wherever that lies */
    bool is_remote;   /* behind a network */
    bool speaks_http; /* ... and failures come with the status of an answer */
    bool is_listable; /* directories can be listed, even if one attempt may fail; a web server may have no listings */
    bool sends_conditions; /* an object is put with one request, which can carry a condition (vsi_write.c) */
    bool has_generations; /* ... of the number of an object and not its ETag (Google) */
};
struct zs_path_kind zs_path_kind_of(const char *path);

/* ---- Names (vsi_paths.c). NULL without memory; freed with free() ---- */

/* The path of an object, "" for the root. In a URL the key is percent-encoded and stands before the query of the root,
 * which often is a signature; so in the URL that is an option of /vsicurl?. */
char *zs_vsi_path(const struct zs_store *store, const char *key);

/* The URL under which a plain GET finds an object of a network's file system, signed where its settings ask for that.
 * NULL also when GDAL does not know. */
char *zs_vsi_object_url(const char *path);

/* A root as messages may show it: without "user:password@", without the query of a URL and without the options of a
 * prefix, which hold signatures, headers and keys. */
char *zs_path_shown(const char *path);
/* A text of others with each URL and each path of GDAL's shown likewise. */
char *zs_text_shown(const char *text);

/* ---- What is there (vsi_paths.c) ---- */

/* Whether a file or directory is at a path. False also where that cannot be asked for. */
bool zs_vsi_exists(const char *path);

/* ---- GDAL's errors and settings around our calls (vsi_paths.c) ---- */

/* Between the two calls GDAL prints nothing; afterwards its error state and the options of this thread that were set
 * meanwhile are as before. `store` may be NULL where no file of one is opened. */
struct zs_vsi_quiet {
    int type, number;
    char *message;
    struct {
        const char *name;
        char *before; /* NULL: none */
    } set[4];
    size_t count;
};
void zs_vsi_quiet_begin(struct zs_vsi_quiet *quiet, const struct zs_store *store);
void zs_vsi_quiet_end(struct zs_vsi_quiet *quiet);
/* Sets an option of this thread until the end; up to three. Pointers that GDAL gave for other options stay valid. */
void zs_vsi_quiet_set(struct zs_vsi_quiet *quiet, const char *name, const char *value);

/* Why the last call failed, as far as GDAL reports it, without secrets (zs_text_shown()). Valid until the next calls
 * into GDAL. */
const char *zs_vsi_reason(void);

/* The value of an option of GDAL's (GDAL_HTTP_HEADERS ...) for this path or for all. NULL when unset; borrowed, valid
 * until the setting changes. */
const char *zs_vsi_option(const char *path, const char *name);

/* ---- The store ---- */

/* `root` is of that kind; copied. It works everywhere, if not always with the fewest requests. */
enum zs_status zs_store_open_vsi(const char *root, const struct zs_path_kind *kind, struct zs_store **store,
                                 struct zs_error *err);

/* Inside: what vsi.c, vsi_write.c and http.c share. */
struct zs_http;
struct vsi_store {
    struct zs_store base;
    struct zs_path_kind kind;
    struct zs_http *http; /* NULL: its objects are not read by plain requests */
};

struct vsi_object {
    struct zs_object base;
    char *path, *name; /* the second for messages */
    /* Read by plain requests (http.c): of the server's answer; NULL where it has none. */
    bool is_plain;
    char *tag; /* ETag or Last-Modified */
    char *generation;
    /* Else idle handles: a VSILFILE has one position, so each concurrent reader needs its own. */
    pthread_mutex_t lock;
    void *idle[ZS_MOST_FETCHES];
    size_t idle_count;
};

/* Opens an object as a file of GDAL's. */
enum zs_status zs_vsi_open_file(struct vsi_object *object, struct zs_error *err);
/* Fails as another object is under the key by now. */
enum zs_status zs_vsi_fail_replaced(struct vsi_object *object, struct zs_error *err);

static inline const struct zs_path_kind *zs_vsi_kind(const struct zs_store *store)
{
    return &((const struct vsi_store *)(const void *)store)->kind;
}

/* Operations of the store's table. */
enum zs_status zs_vsi_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err);
enum zs_status zs_vsi_write(struct zs_writer *writer, uint64_t offset, const void *data, size_t n,
                            struct zs_error *err);
enum zs_status zs_vsi_read_back(struct zs_writer *writer, uint64_t offset, size_t n, void *data, struct zs_error *err);
enum zs_status zs_vsi_commit(struct zs_writer *writer, struct zs_error *err);
void zs_vsi_abort(struct zs_writer *writer);

/* ---- Objects read by plain GET requests (http.c) ---- */

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
