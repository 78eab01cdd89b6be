/* store/http.h: objects read by plain GET requests. VSI's files ask for the size first (HEAD) and have no word for "the
 * last n bytes"; a GET with `Range: bytes=-n` brings both in one round trip, since Content-Range has the size (RFC
 * 9110, 14.4). */
#pragma once

#include "store/store.h"

/* Puts plain GET requests before a store in GDAL's virtual file systems (vsi.h), which it takes over, also on failure;
 * *store = vsi where its objects cannot be read so. Writing, listing and removing go to the inner store, and so does
 * reading once plain requests are refused. */
enum zs_status zs_store_open_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err);

/* ---- The client (http_client.c) ----
 *
 * Plain GET requests through GDAL's HTTP client, with the settings that GDAL has for it. The only file that includes
 * cpl_http.h. */

/* The most bytes of one answer: GDAL's client counts them in an int, and its buffer grows by a quarter beyond. */
#define ZS_HTTP_MAX_ANSWER_BYTES ((size_t)1 << 30)

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

struct zs_http_answer {
    enum zs_http_kind kind;
    void *result;      /* holds what the pointers below point to */
    const char *bytes; /* never NULL */
    size_t size;
    uint64_t first, last, total; /* UINT64_MAX where not known */
    const char *tag;             /* ETag, else Last-Modified, else NULL */
    bool is_strong_etag, is_etag; /* of the tag */
    const char *generation;       /* a number: x-goog-generation, else "" */
    char found[400];  /* for messages */
    bool has_reason;  /* found[] has the server's reason for its refusal */
    bool lacks_bucket; /* ... that there is no such bucket: the name is wrong, which is not an absent object */
    bool is_cut;      /* ZS_HTTP_FAILED: the connection broke before the answer was complete */
    /* ZS_HTTP_FAILED: a kept connection was reset and curl repeated the request by itself; GDAL's client found curl's
     * message of the first attempt and ignored the status of the second. zs_http_get() asks once more. */
    bool is_status_lost;
};

struct zs_http_client;

/* Makes a client for the objects of a store of vsi.c, which is borrowed. *client is NULL where GDAL has no HTTP client,
 * and where settings ask for something that only VSI's own requests do. */
enum zs_status zs_http_client_create(struct zs_store *vsi, struct zs_http_client **client, struct zs_error *err);
void zs_http_client_free(struct zs_http_client *client); /* NULL is allowed */

/* Whether each object's URL is signed, of /vsis3/ and the like. */
bool zs_http_client_signs(const struct zs_http_client *client);

/* Makes one GET request, from any thread. `range` as in a Range header ("0-19", "-20"); NULL for all. `etag`, unless
 * NULL, must still be the object's. May break off an answer of more than `limit` bytes. Retries an answer that is cut
 * short as GDAL's client retries a server's errors (GDAL_HTTP_MAX_RETRY, GDAL_HTTP_RETRY_DELAY). Fails only without
 * memory; every other failure is in the answer. Release it with zs_http_answer_free(). */
enum zs_status zs_http_get(struct zs_http_client *client, const char *key, const char *range, const char *etag,
                           size_t limit, struct zs_http_answer *answer, struct zs_error *err);
void zs_http_answer_free(struct zs_http_answer *answer);

/* The value of GDAL_HTTP_HEADERS for this path with one more line, without commas. NULL without memory, freed with
 * free(). */
char *zs_http_headers_with(const char *path, const char *line);

/* Requests the URL behind any path of GDAL's and returns its status alone, which VSI's files do not give.
 * ZS_HTTP_REFUSED where the path has no URL, ZS_HTTP_BEYOND for an object without bytes. `found`, of `n` bytes (0:
 * NULL), gets the server's answer, for a message. */
enum zs_http_kind zs_http_probe(const char *path, char *found, size_t n);
