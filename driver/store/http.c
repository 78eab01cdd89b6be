/* Objects read by plain GET requests, through GDAL's HTTP client and its settings. VSI's files ask for the size first (HEAD) and
 * have no word for "the last n bytes"; a GET with `Range: bytes=-n` brings both in one round trip, since Content-Range
 * tells the size (RFC 9110, 14.4). VSI is the road that always works: writing, listing and removing go there, and so does reading as
 * soon as a server shows that it does not play along. */
#include <cpl_conv.h>
#include <cpl_http.h>
#include <cpl_string.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "store/vsi_private.h"

/* Most bytes of one answer: GDAL's client counts them in an int, and grows its buffer by a quarter beyond them. */
#define MAX_ANSWER_BYTES ((size_t)1 << 30)
/* An answer longer than was asked for is broken off, but not before this: a long error page shall be told from an object. */
#define MIN_ANSWER_LIMIT ((size_t)256 << 10)
/* Idle connections that all stores of the process keep together: each is a file descriptor. */
#define MAX_IDLE_SESSIONS 128

/* curl's codes for an answer that was broken off since it is too long (curl.h is not ours to include). */
#define CURL_WRITE_ERROR 23
#define CURL_FILESIZE_EXCEEDED 63

struct http_store {
    struct zs_store base;
    struct zs_store *vsi;
    char *url, *query; /* of the root of a /vsicurl/ store; else NULL, and each object's URL is signed */
    atomic_bool use_vsi;     /* the server does not play along */
    atomic_bool proven;      /* it did so far */
    atomic_bool no_suffix;   /* it knows ranges, but not "the last n bytes" */
    atomic_bool no_if_match; /* it denied a version that it had named itself */

    /* GDAL keeps a connection open for each session name, and trusts that no two threads use one at a time. */
    unsigned number;
    pthread_mutex_t lock;
    pid_t pid; /* a forked child shares the sockets, and must not use them */
    unsigned session_count, idle_count, idle_capacity;
    unsigned *idle;
};

struct http_object {
    struct zs_object base;
    char *key;
    char *tag; /* ETag or Last-Modified, as the server said; NULL when it said neither */
    bool is_strong_etag;
    pthread_mutex_t lock;
    struct zs_object *twin; /* the same object through VSI, once that is needed */
};

/* ---- Connections ---- */

static atomic_int idle_sessions;

static void session_name(const struct http_store *h, unsigned session, char *name, size_t n)
{
    snprintf(name, n, "ShardedZarr-%ld-%u-%u", (long)h->pid, h->number, session);
}

static unsigned session_take(struct http_store *h)
{
    pthread_mutex_lock(&h->lock);
    if (h->pid != getpid()) {
        h->pid = getpid();
        atomic_fetch_sub(&idle_sessions, (int)h->idle_count);
        h->session_count = h->idle_count = 0;
    }
    unsigned session;
    if (h->idle_count > 0) {
        session = h->idle[--h->idle_count];
        atomic_fetch_sub(&idle_sessions, 1);
    } else {
        session = h->session_count++;
    }
    pthread_mutex_unlock(&h->lock);
    return session;
}

static void session_close(const struct http_store *h, unsigned session)
{
    char name[64];
    session_name(h, session, name, sizeof name);
    char **options = CSLSetNameValue(NULL, "CLOSE_PERSISTENT", name);
    CPLHTTPDestroyResult(CPLHTTPFetch("", options));
    CSLDestroy(options);
}

static void session_return(struct http_store *h, unsigned session)
{
    const bool keep = atomic_fetch_add(&idle_sessions, 1) < MAX_IDLE_SESSIONS;
    pthread_mutex_lock(&h->lock);
    bool kept = keep && h->idle_count < h->idle_capacity;
    if (keep && !kept) {
        const unsigned capacity = h->idle_capacity == 0 ? 16 : 2 * h->idle_capacity;
        unsigned *grown = realloc(h->idle, capacity * sizeof *grown);
        if (grown != NULL) {
            h->idle = grown;
            h->idle_capacity = capacity;
            kept = true;
        }
    }
    if (kept)
        h->idle[h->idle_count++] = session;
    pthread_mutex_unlock(&h->lock);
    if (!kept) {
        atomic_fetch_sub(&idle_sessions, 1);
        session_close(h, session);
    }
}

/* ---- Requests ---- */

/* What GDAL's client takes from the configuration, and may be set for a path alone (VSISetPathSpecificOption()), which it does not
 * look at by itself. */
static const char *const client_options[][2] = {
    {"GDAL_HTTP_VERSION", "HTTP_VERSION"},
    {"GDAL_HTTP_CONNECTTIMEOUT", "CONNECTTIMEOUT"},
    {"GDAL_HTTP_TIMEOUT", "TIMEOUT"},
    {"GDAL_HTTP_LOW_SPEED_TIME", "LOW_SPEED_TIME"},
    {"GDAL_HTTP_LOW_SPEED_LIMIT", "LOW_SPEED_LIMIT"},
    {"GDAL_HTTP_USERPWD", "USERPWD"},
    {"GDAL_HTTP_PROXY", "PROXY"},
    {"GDAL_HTTPS_PROXY", "HTTPS_PROXY"},
    {"GDAL_HTTP_PROXYUSERPWD", "PROXYUSERPWD"},
    {"GDAL_PROXY_AUTH", "PROXYAUTH"},
    {"GDAL_HTTP_NETRC", "NETRC"},
    {"GDAL_HTTP_NETRC_FILE", "NETRC_FILE"},
    {"GDAL_HTTP_MAX_RETRY", "MAX_RETRY"},
    {"GDAL_HTTP_RETRY_DELAY", "RETRY_DELAY"},
    {"GDAL_HTTP_RETRY_CODES", "RETRY_CODES"},
    {"GDAL_HTTP_HEADER_FILE", "HEADER_FILE"},
    {"GDAL_HTTP_CAPATH", "CAPATH"},
    {"GDAL_CURL_CA_BUNDLE", "CAINFO"},
    {"GDAL_HTTP_SSL_VERIFYSTATUS", "SSL_VERIFYSTATUS"},
    {"GDAL_HTTP_SSLCERT", "SSLCERT"},
    {"GDAL_HTTP_SSLCERTTYPE", "SSLCERTTYPE"},
    {"GDAL_HTTP_SSLKEY", "SSLKEY"},
    {"GDAL_HTTP_KEYPASSWD", "KEYPASSWD"},
    {"GDAL_HTTP_UNSAFESSL", "UNSAFESSL"},
    {"GDAL_HTTP_AUTH", "HTTPAUTH"},
    {"GDAL_HTTP_BEARER", "HTTP_BEARER"},
    {"GDAL_GSSAPI_DELEGATION", "GSSAPI_DELEGATION"},
    {"GDAL_HTTP_COOKIE", "COOKIE"},
    {"GDAL_HTTP_COOKIEFILE", "COOKIEFILE"},
    {"GDAL_HTTP_COOKIEJAR", "COOKIEJAR"},
    {"GDAL_HTTP_TCP_KEEPALIVE", "TCP_KEEPALIVE"},
    {"GDAL_HTTP_TCP_KEEPIDLE", "TCP_KEEPIDLE"},
    {"GDAL_HTTP_TCP_KEEPINTVL", "TCP_KEEPINTVL"},
    {"GDAL_HTTP_USERAGENT", "USERAGENT"},
};

enum kind {
    PART,     /* 206: bytes first to last of total */
    WHOLE,    /* 200: all bytes */
    ABSENT,   /* 404, 410 */
    REPLACED, /* 412 */
    BEYOND,   /* 416: the range is outside; total may be known */
    TOO_LONG, /* more than was asked for: the range was not understood */
    REFUSED,  /* another answer for which the asker is to blame, 501, and what has no URL */
    FAILED
};

struct answer {
    enum kind kind;
    CPLHTTPResult *result;
    const char *bytes; /* never NULL */
    size_t size;
    uint64_t first, last, total; /* UINT64_MAX where not known */
    const char *tag;             /* ETag, else Last-Modified, else NULL */
    bool is_strong_etag;
    char found[200]; /* for messages */
};

static void answer_free(struct answer *a)
{
    CPLHTTPDestroyResult(a->result);
    a->result = NULL;
}

static bool is_unreserved(unsigned char c)
{
    return isalnum(c) || strchr("-._~/!$&'()*,;=:@+", c) != NULL;
}

/* The URL of an object below a root; the query of the root, which often is its key, stays at the end. */
static char *url_below(const char *root, const char *key, const char *query)
{
    const size_t n = strlen(root) + 3 * strlen(key) + strlen(query) + 3;
    char *url = malloc(n);
    if (url == NULL)
        return NULL;
    char *p = url + snprintf(url, n, "%s/", root);
    for (; *key != '\0'; key++)
        p += snprintf(p, 4, is_unreserved((unsigned char)*key) ? "%c" : "%%%02X", (unsigned char)*key);
    memcpy(p, query, strlen(query) + 1);
    return url;
}

/* Adds the header lines of GDAL_HTTP_HEADERS, which GDAL splits at line ends, else at commas, and not at all when no second
 * colon follows the first comma ("Accept: a, b"). */
static char **add_user_headers(char **lines, const char *text)
{
    const char *comma = strchr(text, ',');
    char **more;
    if (strstr(text, "\r\n") != NULL)
        more = CSLTokenizeString2(text, "\r\n", 0);
    else if (comma != NULL && strchr(comma, ':') == NULL)
        return CSLAddString(lines, text);
    else
        more = CSLTokenizeString2(text, ",", CSLT_HONOURSTRINGS);
    for (char **line = more; line != NULL && *line != NULL; line++)
        lines = CSLAddString(lines, *line);
    CSLDestroy(more);
    return lines;
}

static char **request_options(const char *path, const char *session, const char *range, const char *etag, size_t limit)
{
    char **options = CSLSetNameValue(NULL, "PERSISTENT", session);
    for (size_t i = 0; i < sizeof client_options / sizeof client_options[0]; i++) {
        const char *value = zs_vsi_option(path, client_options[i][0]);
        if (value != NULL)
            options = CSLSetNameValue(options, client_options[i][1], value);
    }
    /* The handle behind a session keeps what it was told last, so this is always told. */
    options = CSLSetNameValue(options, "MAX_FILE_SIZE", CPLSPrintf("%zu", limit));

    char **lines = NULL;
    const char *user = zs_vsi_option(path, "GDAL_HTTP_HEADERS");
    if (user != NULL)
        lines = add_user_headers(lines, user);
    if (range != NULL) {
        lines = CSLAddString(lines, CPLSPrintf("Range: bytes=%s", range));
        lines = CSLAddString(lines, "Accept-Encoding: identity"); /* ranges of compressed bytes are of no use */
    }
    if (etag != NULL)
        lines = CSLAddString(lines, CPLSPrintf("If-Match: %s", etag));
    char *headers = zs_strdup("");
    for (char **line = lines; headers != NULL && line != NULL && *line != NULL; line++) {
        char *longer = zs_format("%s%s\r\n", headers, *line);
        free(headers);
        headers = longer;
    }
    CSLDestroy(lines);
    if (headers != NULL && headers[0] != '\0')
        options = CSLSetNameValue(options, "HEADERS", headers);
    free(headers);
    return options;
}

/* The last one: redirections put theirs before. */
static const char *header(const CPLHTTPResult *r, const char *name)
{
    const char *value = NULL;
    const size_t n = strlen(name);
    for (char **line = r->papszHeaders; line != NULL && *line != NULL; line++)
        if (strncasecmp(*line, name, n) == 0 && (*line)[n] == '=')
            value = *line + n + 1;
    return value;
}

static bool parse_u64(const char **p, uint64_t *value)
{
    if (!isdigit((unsigned char)**p))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(*p, &end, 10);
    *p = end;
    return errno == 0;
}

/* Content-Range (RFC 9110, 14.4): "bytes 0-19/100", with "*" for what is not known or not there. */
static bool parse_content_range(const char *text, struct answer *a)
{
    if (strncasecmp(text, "bytes", 5) != 0)
        return false;
    text += 5 + strspn(text + 5, " =");
    if (*text == '*')
        text++;
    else if (!parse_u64(&text, &a->first) || *text++ != '-' || !parse_u64(&text, &a->last))
        return false;
    if (*text++ != '/')
        return false;
    return *text == '*' || parse_u64(&text, &a->total);
}

static void classify(const CPLHTTPResult *r, bool is_range, size_t limit, struct answer *a)
{
    const char *error = r->pszErrBuf != NULL ? r->pszErrBuf : "";
    const char *content_range = header(r, "Content-Range"), *length = header(r, "Content-Length");
    const bool has_range = content_range != NULL && parse_content_range(content_range, a);
    int code = 0;
    if (sscanf(error, "HTTP error code : %d", &code) == 1)
        snprintf(a->found, sizeof a->found, "HTTP status %d", code);
    else if (r->nStatus != 0)
        snprintf(a->found, sizeof a->found, "%.150s (curl error %d)", error, r->nStatus);
    else if (content_range != NULL)
        snprintf(a->found, sizeof a->found, "%d bytes with Content-Range: %.100s", r->nDataLen, content_range);
    else
        snprintf(a->found, sizeof a->found, "%d bytes without Content-Range", r->nDataLen);

    if (code == 404 || code == 410)
        a->kind = ABSENT;
    else if (code == 412)
        a->kind = REPLACED;
    else if (code == 416)
        a->kind = BEYOND;
    else if ((code >= 400 && code < 500 && code != 408 && code != 429) || code == 501)
        a->kind = REFUSED;
    else if (code != 0)
        a->kind = FAILED;
    else if (r->nStatus == CURL_FILESIZE_EXCEEDED || (r->nStatus == CURL_WRITE_ERROR && a->size > limit))
        a->kind = has_range ? FAILED : TOO_LONG;
    else if (r->nStatus != 0 || (error[0] != '\0' && a->size == 0))
        a->kind = FAILED;
    else if (has_range && a->first <= a->last)
        a->kind = is_range && a->last - a->first + 1 == a->size ? PART : FAILED;
    else if (length != NULL && header(r, "Content-Encoding") == NULL && strtoull(length, NULL, 10) != a->size)
        a->kind = FAILED; /* broken off, where curl was told not to mind */
    else
        a->kind = WHOLE;
}

/* Object stores send some of their refusals (another region) as redirections that lead nowhere, which look like an answer. */
static bool is_xml_error(const struct answer *a)
{
    const char *type = a->result->pszContentType;
    return type != NULL && strstr(type, "xml") != NULL && strstr(a->bytes, "<Error>") != NULL; /* GDAL ends it with a zero */
}

/* One GET. `range` as in a Range header ("0-19", "-20"); NULL for all. Fails only without memory: the answer says the rest. */
static enum zs_status request(struct http_store *h, const char *key, const char *range, const char *etag, size_t limit,
                              struct answer *a, struct zs_error *err)
{
    *a = (struct answer){.kind = REFUSED, .bytes = "", .first = UINT64_MAX, .last = UINT64_MAX, .total = UINT64_MAX};
    limit = limit < MIN_ANSWER_LIMIT ? MIN_ANSWER_LIMIT : limit;
    char *path = zs_vsi_path(h->vsi, key);
    if (path == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a path");
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, h->vsi);
    char *url = h->url != NULL ? url_below(h->url, key, h->query) : zs_vsi_object_url(path);
    if (url != NULL) {
        char session[64];
        const unsigned number = session_take(h);
        session_name(h, number, session, sizeof session);
        char **options = request_options(path, session, range, etag, limit);
        /* Ours have the user's headers in them; GDAL 3.6 would send those of the configuration a second time. */
        const char *local = CPLGetThreadLocalConfigOption("GDAL_HTTP_HEADERS", NULL);
        char *kept = local != NULL ? zs_strdup(local) : NULL;
        CPLSetThreadLocalConfigOption("GDAL_HTTP_HEADERS", "");
        a->result = CPLHTTPFetch(url, options);
        CPLSetThreadLocalConfigOption("GDAL_HTTP_HEADERS", kept);
        free(kept);
        CSLDestroy(options);
        session_return(h, number);
    } else {
        snprintf(a->found, sizeof a->found, "no URL for it");
    }
    zs_vsi_quiet_end(&q);
    free(path);
    free(url);
    CPLHTTPResult *r = a->result;
    if (r == NULL)
        return ZS_OK;
    if (r->pabyData != NULL && r->nDataLen > 0) {
        a->bytes = (const char *)r->pabyData;
        a->size = (size_t)r->nDataLen;
    }
    classify(r, range != NULL, limit, a);
    if (a->kind == WHOLE && h->url == NULL && is_xml_error(a))
        a->kind = REFUSED;
    const char *found_etag = header(r, "ETag");
    a->tag = found_etag != NULL && found_etag[0] != '\0' ? found_etag : header(r, "Last-Modified");
    a->is_strong_etag = a->tag != NULL && a->tag[0] == '"' && a->tag == found_etag;
    if (a->kind == PART || a->kind == WHOLE)
        atomic_store(&h->proven, true);
    return ZS_OK;
}

/* Whether to give up on plain requests to this store, and to let VSI try. */
static bool must_use_vsi(struct http_store *h, const struct answer *a)
{
    /* VSI knows more than a signed URL: it follows buckets to their regions, and finds credentials anew. */
    if (a->kind == TOO_LONG || (a->kind == REFUSED && h->url == NULL && !atomic_load(&h->proven)))
        atomic_store(&h->use_vsi, true);
    return atomic_load(&h->use_vsi);
}

static enum zs_status fail_absent(const struct http_store *h, const char *key, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is no such object", h->base.root, key);
}

static enum zs_status fail_answer(const struct http_store *h, const char *key, const char *expected, const struct answer *a,
                                  struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s/%s: expected %s, found %s", h->base.root, key, expected, a->found);
}

/* ---- Whole objects ---- */

static enum zs_status http_get(struct zs_store *store, const char *key, size_t max_bytes, struct zs_buffer *out,
                               struct zs_error *err)
{
    struct http_store *h = (struct http_store *)store;
    if (atomic_load(&h->use_vsi))
        return zs_store_get(h->vsi, key, max_bytes, out, err);
    struct answer a;
    ZS_TRY(request(h, key, NULL, NULL, max_bytes < MAX_ANSWER_BYTES ? max_bytes : MAX_ANSWER_BYTES, &a, err));
    enum zs_status status;
    if (a.kind == TOO_LONG && max_bytes > MAX_ANSWER_BYTES) {
        status = zs_store_get(h->vsi, key, max_bytes, out, err);
    } else if (a.kind == TOO_LONG || (a.kind == WHOLE && a.size > max_bytes)) {
        status = zs_fail(err, ZS_INVALID, "%s/%s: expected at most %zu bytes, found more", h->base.root, key, max_bytes);
    } else if (a.kind == WHOLE) {
        status = zs_buffer_reset(out, a.size, err);
        if (status == ZS_OK && a.size > 0)
            memcpy(out->data, a.bytes, a.size);
        if (status == ZS_OK)
            out->size = a.size;
    } else if (a.kind == ABSENT) {
        status = fail_absent(h, key, err);
    } else if (must_use_vsi(h, &a)) {
        status = zs_store_get(h->vsi, key, max_bytes, out, err);
    } else {
        status = fail_answer(h, key, "the object", &a, err);
    }
    answer_free(&a);
    return status;
}

/* ---- Opening ---- */

static void http_close(struct zs_object *object)
{
    struct http_object *o = (struct http_object *)object;
    zs_object_close(o->twin);
    pthread_mutex_destroy(&o->lock);
    free(o->key);
    free(o->tag);
    free(o);
}

static uint64_t version_of(const char *tag, uint64_t size)
{
    uint64_t v = 0xCBF29CE484222325u ^ size; /* FNV-1a */
    for (; tag != NULL && *tag != '\0'; tag++)
        v = (v ^ (unsigned char)*tag) * 0x100000001B3u;
    return v;
}

static enum zs_status object_new(struct http_store *h, const char *key, uint64_t size, const struct answer *a,
                                 struct zs_object **object, struct zs_error *err)
{
    struct http_object *o = zs_calloc(1, sizeof *o);
    if (o != NULL) {
        pthread_mutex_init(&o->lock, NULL);
        o->key = zs_strdup(key);
        o->tag = a->tag != NULL ? zs_strdup(a->tag) : NULL;
    }
    if (o == NULL || o->key == NULL || (a->tag != NULL && o->tag == NULL)) {
        if (o != NULL)
            http_close(&o->base);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate an object handle");
    }
    o->is_strong_etag = a->is_strong_etag;
    o->base.store = &h->base;
    o->base.size = size;
    o->base.version = version_of(o->tag, size);
    *object = &o->base;
    return ZS_OK;
}

/* An object from the answer to a request for its first (or last) n bytes, which go to `data` when there are so many. */
static enum zs_status object_from_answer(struct http_store *h, const char *key, bool tail, size_t n, void *data,
                                         const struct answer *a, struct zs_object **object, struct zs_error *err)
{
    if (a->kind == BEYOND && a->total == 0)
        return object_new(h, key, 0, a, object, err);
    const uint64_t size = a->kind == WHOLE ? a->size : a->total;
    if (a->kind == PART) {
        const uint64_t wanted = n < size ? n : size;
        const uint64_t first = tail ? size - wanted : 0;
        if (size == UINT64_MAX || a->first != first || a->size != wanted)
            return fail_answer(h, key, tail ? "the last bytes, and the size" : "the first bytes, and the size", a, err);
    }
    ZS_TRY(object_new(h, key, size, a, object, err));
    if (size >= n)
        memcpy(data, a->kind == WHOLE && tail ? a->bytes + (a->size - n) : a->bytes, n);
    return ZS_OK;
}

static enum zs_status http_open_head(struct zs_store *store, const char *key, size_t n, void *head, struct zs_object **object,
                                     struct zs_error *err)
{
    struct http_store *h = (struct http_store *)store;
    if (atomic_load(&h->use_vsi))
        return zs_object_open_head(h->vsi, key, n, head, object, err);
    char byte, range[64];
    const size_t part = n == 0 ? 1 : n < MAX_ANSWER_BYTES ? n : MAX_ANSWER_BYTES;
    snprintf(range, sizeof range, "0-%zu", part - 1);
    struct answer a;
    ZS_TRY(request(h, key, range, NULL, part, &a, err));
    enum zs_status status;
    if (a.kind == ABSENT)
        status = fail_absent(h, key, err);
    else if (a.kind == PART || a.kind == WHOLE || (a.kind == BEYOND && a.total == 0))
        status = object_from_answer(h, key, false, part, n == 0 ? &byte : head, &a, object, err);
    else if (must_use_vsi(h, &a))
        status = zs_object_open_head(h->vsi, key, n, head, object, err);
    else
        status = fail_answer(h, key, "the first bytes", &a, err);
    answer_free(&a);
    if (status == ZS_OK && n > part && zs_object_size(*object) >= n) {
        status = zs_object_read(*object, part, n - part, (char *)head + part, err);
        if (status != ZS_OK) {
            zs_object_close(*object);
            *object = NULL;
        }
    }
    return status;
}

static enum zs_status http_open(struct zs_store *store, const char *key, struct zs_object **object, struct zs_error *err)
{
    return http_open_head(store, key, 0, NULL, object, err);
}

static enum zs_status open_tail_in_two(struct http_store *h, const char *key, size_t n, void *tail, struct zs_object **object,
                                       struct zs_error *err)
{
    ZS_TRY(http_open(&h->base, key, object, err));
    const uint64_t size = zs_object_size(*object);
    const enum zs_status status = size < n ? ZS_OK : zs_object_read(*object, size - n, n, tail, err);
    if (status != ZS_OK) {
        zs_object_close(*object);
        *object = NULL;
    }
    return status;
}

static enum zs_status http_open_tail(struct zs_store *store, const char *key, size_t n, void *tail, struct zs_object **object,
                                     struct zs_error *err)
{
    struct http_store *h = (struct http_store *)store;
    if (atomic_load(&h->use_vsi))
        return zs_object_open_tail(h->vsi, key, n, tail, object, err);
    if (n == 0 || n > MAX_ANSWER_BYTES || atomic_load(&h->no_suffix))
        return open_tail_in_two(h, key, n, tail, object, err);
    char range[32];
    snprintf(range, sizeof range, "-%zu", n);
    struct answer a;
    ZS_TRY(request(h, key, range, NULL, n, &a, err));
    enum zs_status status;
    bool other_way = false;
    if (a.kind == ABSENT) {
        status = fail_absent(h, key, err);
    } else if (a.kind == PART || a.kind == WHOLE || (a.kind == BEYOND && a.total == 0)) {
        /* Some take "-20" for "0-20". */
        other_way = a.kind == PART && a.total != UINT64_MAX && a.first == 0 && a.total > n;
        status = other_way ? ZS_IO : object_from_answer(h, key, true, n, tail, &a, object, err);
    } else {
        status = fail_answer(h, key, "the last bytes", &a, err);
        other_way = a.kind != FAILED;
    }
    answer_free(&a);
    if (other_way) { /* whatever is wrong, the plainer requests will fail on it too */
        status = open_tail_in_two(h, key, n, tail, object, err);
        if (status == ZS_OK)
            atomic_store(&h->no_suffix, true);
    }
    return status;
}

/* ---- Reading ---- */

static enum zs_status fail_replaced(struct http_object *o, struct zs_error *err)
{
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return zs_fail(err, ZS_IO, "%s/%s: the object was replaced while it was read", o->base.store->root, o->key);
}

static enum zs_status read_through_vsi(struct http_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    enum zs_status status = ZS_OK;
    pthread_mutex_lock(&o->lock);
    if (o->twin == NULL)
        status = zs_object_open(h->vsi, o->key, &o->twin, err);
    pthread_mutex_unlock(&o->lock);
    if (status == ZS_NOT_FOUND || (status == ZS_OK && zs_object_size(o->twin) != o->base.size))
        return fail_replaced(o, err);
    return status == ZS_OK ? zs_object_read(o->twin, offset, n, data, err) : status;
}

static enum zs_status read_part(struct http_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    char range[64], expected[80];
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + n - 1));
    snprintf(expected, sizeof expected, "bytes %s", range);
    struct answer a;
    const char *etag = o->is_strong_etag && !atomic_load(&h->no_if_match) ? o->tag : NULL;
    ZS_TRY(request(h, o->key, range, etag, n, &a, err));
    enum zs_status status = ZS_OK;
    const uint64_t total = a.kind == WHOLE ? a.size : a.total;
    if (a.kind == REPLACED)
        atomic_store(&h->no_if_match, true); /* ETags of answers are compared all the same */
    if (a.kind == ABSENT || a.kind == REPLACED || a.kind == BEYOND ||
        ((a.kind == PART || a.kind == WHOLE) &&
         ((total != UINT64_MAX && total != o->base.size) || (a.tag != NULL && o->tag != NULL && strcmp(a.tag, o->tag) != 0))))
        status = fail_replaced(o, err);
    else if (a.kind == PART && a.first == offset && a.size == n)
        memcpy(data, a.bytes, n);
    else if (a.kind == WHOLE)
        memcpy(data, a.bytes + offset, n);
    else if (must_use_vsi(h, &a))
        status = read_through_vsi(o, offset, n, data, err);
    else
        status = fail_answer(h, o->key, expected, &a, err);
    answer_free(&a);
    return status;
}

static enum zs_status http_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_object *o = (struct http_object *)object;
    struct http_store *h = (struct http_store *)object->store;
    while (n > 0) {
        if (atomic_load(&h->use_vsi))
            return read_through_vsi(o, offset, n, data, err);
        const size_t part = n < MAX_ANSWER_BYTES ? n : MAX_ANSWER_BYTES;
        ZS_TRY(read_part(o, offset, part, data, err));
        offset += part;
        data = (char *)data + part;
        n -= part;
    }
    return ZS_OK;
}

/* ---- The store ---- */

static enum zs_status http_create(struct zs_store *store, const char *key, struct zs_writer **writer, struct zs_error *err)
{
    return zs_store_create(((struct http_store *)store)->vsi, key, writer, err);
}

static enum zs_status http_remove(struct zs_store *store, const char *key, struct zs_error *err)
{
    return zs_store_remove(((struct http_store *)store)->vsi, key, err);
}

static enum zs_status http_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return zs_store_list(((struct http_store *)store)->vsi, prefix, names, err);
}

static void http_free(struct zs_store *store)
{
    struct http_store *h = (struct http_store *)store;
    if (h->pid == getpid())
        for (unsigned i = 0; i < h->idle_count; i++) {
            session_close(h, h->idle[i]);
            atomic_fetch_sub(&idle_sessions, 1);
        }
    pthread_mutex_destroy(&h->lock);
    zs_store_free(h->vsi);
    free(h->base.root);
    free(h->url);
    free(h->query);
    free(h->idle);
    free(h);
}

/* A root as messages may show it: without "user:password@" and without a query, which may be a signature. */
static char *presentable(const char *root)
{
    char *name = zs_strndup(root, strcspn(root, "?"));
    char *authority = name != NULL ? strstr(name, "://") : NULL;
    if (authority == NULL)
        return name;
    authority += 3;
    char *at = NULL;
    for (char *p = authority; *p != '\0' && *p != '/'; p++)
        if (*p == '@')
            at = p;
    if (at != NULL)
        memmove(authority, at + 1, strlen(at + 1) + 1);
    return name;
}

/* Where requests of our own would not be what the user asked for. */
static bool belongs_to_vsi(const char *root)
{
    static const char *const settings[] = {"VSICURL_PC_URL_SIGNING", "VSICURL_PC_COLLECTION", "VSICURL_QUERY_STRING"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (zs_vsi_option(root, settings[i]) != NULL)
            return true;
    return false;
}

enum zs_status zs_store_over_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err)
{
    static const char *const prefixes[] = {"/vsicurl/http://", "/vsicurl/https://", "/vsis3/", "/vsigs/", "/vsiaz/"};
    static atomic_uint count;
    bool is_ours = false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        is_ours = is_ours || strncmp(vsi->root, prefixes[i], strlen(prefixes[i])) == 0;
    if (!is_ours || !CPLHTTPEnabled() || belongs_to_vsi(vsi->root)) {
        *store = vsi;
        return ZS_OK;
    }
    static const struct zs_store_ops ops = {
        .open = http_open,
        .read = http_read,
        .close = http_close,
        .create = http_create,
        .remove = http_remove,
        .list = http_list,
        .free = http_free,
        .open_tail = http_open_tail,
        .open_head = http_open_head,
        .get = http_get,
    };
    struct http_store *h = zs_calloc(1, sizeof *h);
    if (h != NULL) {
        pthread_mutex_init(&h->lock, NULL);
        h->base = (struct zs_store){.ops = &ops, .root = presentable(vsi->root), .is_remote = true};
        h->vsi = vsi;
        h->pid = getpid();
        h->number = atomic_fetch_add(&count, 1);
        if (strncmp(vsi->root, "/vsicurl/", 9) == 0) {
            const char *url = vsi->root + 9;
            const size_t n = strcspn(url, "?");
            h->url = zs_strndup(url, n);
            h->query = zs_strdup(url + n);
        }
    }
    if (h == NULL || h->base.root == NULL || (strncmp(vsi->root, "/vsicurl/", 9) == 0 && (h->url == NULL || h->query == NULL))) {
        if (h != NULL)
            http_free(&h->base);
        else
            zs_store_free(vsi);
        return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a store");
    }
    *store = &h->base;
    return ZS_OK;
}
