/* Objects read by plain GET requests through GDAL's HTTP client, with the settings that GDAL has for it
 * (GDAL_HTTP_MAX_RETRY ...). VSI's files ask for the size first (HEAD), and cannot ask for the last n bytes. A GET with
 * `Range: bytes=-n` brings both in one round trip, since Content-Range has the size (RFC 9110, 14.4). The only file
 * that includes cpl_http.h. */
#include "store/vsi.h"

#include <cpl_conv.h>
#include <cpl_http.h>
#include <cpl_minixml.h>
#include <cpl_string.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/map.h"

/* The most bytes of one answer: GDAL's client counts them in an int, and its buffer grows by a quarter beyond. */
#define MAX_ANSWER_BYTES ((size_t)1 << 30)
/* An answer is broken off when it exceeds the limit asked for, but not before this size: a long error page must be
 * distinguished from an object. */
#define MIN_ANSWER_LIMIT ((size_t)256 << 10)
/* Idle connections that all stores of the process keep, in total: each is a file descriptor. */
#define MAX_IDLE_SESSIONS 128

/* The prefix before a plain URL. */
#define PLAIN "/vsicurl/"

/* curl's codes for an answer that was broken off since it is too long (curl.h is not ours to include). */
#define CURL_WRITE_ERROR 23
#define CURL_FILESIZE_EXCEEDED 63

struct answer {
    enum zs_http_kind kind;
    CPLHTTPResult *result; /* holds what the pointers below point to */
    const char *bytes;     /* never NULL */
    size_t size;
    uint64_t first, last, total;  /* UINT64_MAX where not known */
    const char *tag;              /* ETag, else Last-Modified, else NULL */
    bool is_etag;                 /* the tag is one */
    const char *generation;       /* a number: x-goog-generation, else "" */
    char found[400];              /* for messages */
    bool lacks_bucket;            /* ... that there is no such bucket, which is not an absent object */
    /* ZS_HTTP_FAILED: a kept connection was reset and curl repeated the request by itself; GDAL's client found curl's
     * message of the first attempt and ignored the status of the second. It is made once more. */
    bool is_status_lost;
};

struct zs_http {
    bool is_signing;     /* each object's URL is signed, of /vsis3/ and the like */
    atomic_bool proven;  /* a plain request succeeded */
    atomic_bool use_vsi; /* since it read what plain requests did not */

    /* GDAL keeps a connection open for each session name, and trusts that no two threads use one at a time. Each store
     * has its own: GDAL's handle behind a session keeps credentials. */
    unsigned number;
    pthread_mutex_t lock; /* of all below */
    pid_t pid;            /* a forked child shares the sockets, and must not use them */
    unsigned session_count;
    unsigned idle[ZS_MOST_FETCHES];
    size_t idle_count;
};

static struct zs_http *http_of(const struct vsi_object *o)
{
    return ((const struct vsi_store *)o->base.store)->http;
}

/* ---- Connections ---- */

static atomic_int idle_sessions;

static void session_name(const struct zs_http *h, unsigned session, char *name, size_t n)
{
    snprintf(name, n, "ShardedZarr-%ld-%u-%u", (long)h->pid, h->number, session);
}

static unsigned session_take(struct zs_http *h)
{
    pthread_mutex_lock(&h->lock);
    if (h->pid != getpid()) {
        h->pid = getpid();
        atomic_fetch_sub(&idle_sessions, (int)h->idle_count);
        h->session_count = 0;
        h->idle_count = 0;
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

static void session_close(const struct zs_http *h, unsigned session)
{
    char name[64];
    session_name(h, session, name, sizeof name);
    char **options = CSLSetNameValue(NULL, "CLOSE_PERSISTENT", name);
    CPLHTTPDestroyResult(CPLHTTPFetch("", options));
    CSLDestroy(options);
}

static void session_return(struct zs_http *h, unsigned session)
{
    bool is_kept = atomic_fetch_add(&idle_sessions, 1) < MAX_IDLE_SESSIONS;
    pthread_mutex_lock(&h->lock);
    is_kept = is_kept && h->idle_count < ZS_MOST_FETCHES;
    if (is_kept)
        h->idle[h->idle_count++] = session;
    pthread_mutex_unlock(&h->lock);
    if (!is_kept) {
        atomic_fetch_sub(&idle_sessions, 1);
        session_close(h, session);
    }
}

/* ---- Requests ---- */

static void answer_free(struct answer *a)
{
    CPLHTTPDestroyResult(a->result);
    a->result = NULL;
}

/* Whether GDAL takes a value of GDAL_HTTP_HEADERS for one line, as it is: no colon follows the first comma of
 * "Accept: a, b". */
static bool is_one_line(const char *text)
{
    const char *comma = strchr(text, ',');
    return comma != NULL && strchr(comma, ':') == NULL && strstr(text, "\r\n") == NULL;
}

/* The header lines of GDAL_HTTP_HEADERS, which GDAL splits at line ends, else at commas. */
static char **user_headers(const char *path)
{
    const char *text = zs_vsi_option(path, "GDAL_HTTP_HEADERS");
    if (text == NULL || is_one_line(text))
        return CSLAddString(NULL, text);
    return strstr(text, "\r\n") != NULL ? CSLTokenizeString2(text, "\r\n", 0)
                                        : CSLTokenizeString2(text, ",", CSLT_HONOURSTRINGS);
}

/* The value of GDAL_HTTP_HEADERS for header lines, which are freed. Commas stand between quoted lines: at line ends
 * GDAL 3.6 takes the quotes of a value away, later ones do not. */
static char *print_headers(char **lines)
{
    const bool is_alone = CSLCount(lines) == 1 && is_one_line(lines[0]); /* quotes would be sent, too */
    char *text = zs_strdup(is_alone ? lines[0] : "");
    for (char **l = is_alone ? NULL : lines; text != NULL && l != NULL && *l != NULL; l++) {
        char *escaped = CPLEscapeString(*l, -1, CPLES_BackslashQuotable);
        char *longer = zs_format("%s%s\"%s\"", text, text[0] != '\0' ? "," : "", escaped);
        CPLFree(escaped);
        free(text);
        text = longer;
    }
    CSLDestroy(lines);
    return text;
}

char *zs_http_headers_with(const char *path, const char *line)
{
    return print_headers(CSLAddString(user_headers(path), line));
}

static char *request_headers(const char *path, const char *range, const char *etag)
{
    char **lines = user_headers(path);
    if (range != NULL)
        lines = CSLAddString(lines, CPLSPrintf("Range: bytes=%s", range));
    /* Ranges of compressed bytes are of no use. What a proxy compresses has an ETag that no commit can expect. */
    if (range != NULL || strncmp(path, PLAIN, strlen(PLAIN)) != 0)
        lines = CSLAddString(lines, "Accept-Encoding: identity");
    if (etag != NULL)
        lines = CSLAddString(lines, CPLSPrintf("If-Match: %s", etag));
    return print_headers(lines);
}

static bool has_name(const char *line, const char *name)
{
    const size_t n = strlen(name);
    return strncasecmp(line, name, n) == 0 && line[n] == '=';
}

/* A header of the last answer. curl follows redirections and answers challenges, and GDAL puts the headers of all
 * answers into one list, without their status lines. Each answer before the last has a Location or a challenge. */
static const char *header(const CPLHTTPResult *result, const char *name)
{
    const char *value = NULL;
    for (char **line = result->papszHeaders; line != NULL && *line != NULL; line++) {
        if (has_name(*line, "WWW-Authenticate") || has_name(*line, "Proxy-Authenticate") ||
            has_name(*line, "Location"))
            value = NULL;
        if (has_name(*line, name))
            value = *line + strlen(name) + 1;
    }
    return value;
}

static bool parse_u64(const char **text, uint64_t *value)
{
    if (!isdigit((unsigned char)**text))
        return false;
    char *end;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
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

/* Adds why S3, or a server like it, refused. GDAL ends its bytes with a zero. */
static void add_reason(struct answer *a)
{
    CPLXMLNode *xml = CPLParseXMLString(a->bytes);
    const char *code = CPLGetXMLValue(xml, "=Error.Code", NULL), *message = CPLGetXMLValue(xml, "=Error.Message", "");
    const size_t used = strlen(a->found);
    a->lacks_bucket = code != NULL && strcmp(code, "NoSuchBucket") == 0;
    if (code != NULL)
        snprintf(a->found + used, sizeof a->found - used, " (%.64s%s%.200s)", code, message[0] != '\0' ? ": " : "",
                 message);
    CPLDestroyXMLNode(xml);
}

/* The status of an answer from 400 on, else 0: the one member where GDAL's client gives it. curl's own errors, which
 * stand there as well, come with a code. */
static int http_status(const CPLHTTPResult *result)
{
    int code = 0, n = 0;
    const bool is_status = result->nStatus == 0 && result->pszErrBuf != NULL &&
                           sscanf(result->pszErrBuf, "HTTP error code : %3d%n", &code, &n) == 1 &&
                           result->pszErrBuf[n] == '\0';
    return is_status && code >= 400 ? code : 0;
}

/* Takes an answer with a status from 400 on. */
static void take_refusal(int code, struct answer *a)
{
    const bool is_passing = code == 408 || code == 429 || (code >= 500 && code != 501);
    snprintf(a->found, sizeof a->found, "HTTP status %d", code);
    add_reason(a);
    if ((code == 404 && !a->lacks_bucket) || code == 410)
        a->kind = ZS_HTTP_ABSENT;
    else if (code == 412)
        a->kind = ZS_HTTP_REPLACED;
    else if (code == 416)
        a->kind = ZS_HTTP_BEYOND;
    else
        a->kind = is_passing ? ZS_HTTP_FAILED : ZS_HTTP_REFUSED;
}

/* Takes what is no answer, or one that curl broke off. */
static void take_failure(const CPLHTTPResult *result, bool has_range, size_t limit, struct answer *a)
{
    const bool is_too_long =
        result->nStatus == CURL_FILESIZE_EXCEEDED || (result->nStatus == CURL_WRITE_ERROR && a->size > limit);
    a->is_status_lost = result->nStatus == 0;
    a->kind = is_too_long && !has_range ? ZS_HTTP_TOO_LONG : ZS_HTTP_FAILED;
    if (a->kind == ZS_HTTP_TOO_LONG)
        snprintf(a->found, sizeof a->found, "more, with Content-Range: none: the server knows no byte ranges");
    else
        snprintf(a->found, sizeof a->found, "%.150s (curl error %d)",
                 result->pszErrBuf != NULL ? result->pszErrBuf : "", result->nStatus);
}

/* Takes an answer with bytes. */
static void take_bytes(const CPLHTTPResult *result, bool has_range, bool is_part, struct answer *a)
{
    const char *content_range = header(result, "Content-Range"), *length = header(result, "Content-Length");
    /* cut short: a setting makes curl ignore that */
    const bool is_cut_short =
        length != NULL && header(result, "Content-Encoding") == NULL && strtoull(length, NULL, 10) != a->size;
    snprintf(a->found, sizeof a->found, "%d bytes with Content-Range: %.100s", result->nDataLen,
             content_range != NULL ? content_range : "none");
    if (has_range && a->first <= a->last)
        a->kind = is_part ? ZS_HTTP_PART : ZS_HTTP_FAILED;
    else
        a->kind = is_cut_short ? ZS_HTTP_FAILED : ZS_HTTP_WHOLE;
}

static void classify(const CPLHTTPResult *result, bool is_range, size_t limit, struct answer *a)
{
    const char *content_range = header(result, "Content-Range");
    const bool has_range = content_range != NULL && parse_content_range(content_range, a);
    const bool is_part = has_range && is_range && a->first <= a->last && a->last - a->first + 1 == a->size;
    const bool has_error = result->pszErrBuf != NULL && result->pszErrBuf[0] != '\0';
    const int code = http_status(result);
    if (code != 0)
        take_refusal(code, a);
    else if (result->nStatus != 0 || (has_error && !is_part))
        take_failure(result, has_range, limit, a);
    else
        take_bytes(result, has_range, is_part, a);
}

/* Asks once. `session` names a connection that is kept; NULL: a new one. */
static void fetch(const char *url, const char *path, const char *session, const char *range, const char *etag,
                  size_t limit, struct answer *a)
{
    char **options = session != NULL ? CSLSetNameValue(NULL, "PERSISTENT", session) : NULL;
    /* The handle behind a session keeps its last setting, so this is always set. */
    options = CSLSetNameValue(options, "MAX_FILE_SIZE", CPLSPrintf("%zu", limit));
    char *headers = request_headers(path, range, etag);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, NULL);
    zs_vsi_quiet_set(&q, "GDAL_HTTP_HEADERS", headers);
    CPLHTTPResult *r = CPLHTTPFetch(url, options);
    CSLDestroy(options);
    free(headers);
    a->result = r;
    if (r != NULL && r->pabyData != NULL && r->nDataLen > 0) {
        a->bytes = (const char *)r->pabyData;
        a->size = (size_t)r->nDataLen;
    }
    if (r != NULL)
        classify(r, range != NULL, limit, a);
    zs_vsi_quiet_end(&q); /* GDAL's XML parser emits errors for pages that are no XML */
    if (r == NULL)
        return;
    const char *found_etag = header(r, "ETag");
    a->tag = found_etag != NULL && found_etag[0] != '\0' ? found_etag : header(r, "Last-Modified");
    a->is_etag = a->tag != NULL && a->tag == found_etag;
    const char *generation = header(r, "x-goog-generation");
    a->generation = generation != NULL && generation[strspn(generation, "0123456789")] == '\0' ? generation : "";
}

static struct answer no_answer(void)
{
    return (struct answer){
        .kind = ZS_HTTP_REFUSED, .bytes = "", .generation = "", .first = UINT64_MAX, .last = UINT64_MAX,
        .total = UINT64_MAX};
}

/* Asks once for an object of a store, on one of its connections. */
static void ask(struct zs_http *h, const char *path, const char *range, const char *etag, size_t limit,
                struct answer *a)
{
    *a = no_answer();
    char *url = h->is_signing ? zs_vsi_object_url(path) : zs_strdup(path + strlen(PLAIN)), session[64];
    if (url == NULL) {
        snprintf(a->found, sizeof a->found, "no URL for it");
        return;
    }
    const unsigned number = session_take(h);
    session_name(h, number, session, sizeof session);
    fetch(url, path, session, range, etag, limit, a);
    if (a->is_status_lost) { /* the connection is a new one now */
        answer_free(a);
        *a = no_answer();
        fetch(url, path, session, range, etag, limit, a);
    }
    session_return(h, number);
    free(url);
    /* Object stores send some refusals (another region) as redirections that lead nowhere. */
    const char *type = a->kind == ZS_HTTP_WHOLE && h->is_signing ? a->result->pszContentType : NULL;
    if (type != NULL && strstr(type, "xml") != NULL && strstr(a->bytes, "<Error>") != NULL) {
        a->kind = ZS_HTTP_REFUSED;
        add_reason(a);
    }
}

enum zs_http_kind zs_http_probe(const char *path, char *found, size_t n)
{
    struct answer a = no_answer();
    char *url = zs_vsi_object_url(path);
    if (url != NULL && CPLHTTPEnabled())
        fetch(url, path, NULL, "0-0", NULL, MIN_ANSWER_LIMIT, &a);
    free(url);
    if (a.kind == ZS_HTTP_WHOLE && a.size == 0)
        a.kind = ZS_HTTP_BEYOND;
    if (n > 0)
        snprintf(found, n, "%s", a.found);
    answer_free(&a);
    return a.kind;
}

/* Makes one GET request, from any thread. `range` as in a Range header ("0-19", "-20"); NULL for all. `etag`, unless
 * NULL, must still be the object's. May break off an answer of more than `limit` bytes. Every failure is in the
 * answer. */
static void request(const struct vsi_object *o, const char *range, const char *etag, size_t limit, struct answer *a)
{
    struct zs_http *h = http_of(o);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, o->base.store);
    limit = limit < MIN_ANSWER_LIMIT ? MIN_ANSWER_LIMIT : limit;
    ask(h, o->path, range, etag, limit, a);
    if (a->kind == ZS_HTTP_REFUSED && h->is_signing) { /* the credentials may have ended just then */
        answer_free(a);
        ask(h, o->path, range, etag, limit, a);
    }
    zs_vsi_quiet_end(&q);
    if (a->kind == ZS_HTTP_PART || a->kind == ZS_HTTP_WHOLE)
        atomic_store(&h->proven, true);
}

/* ---- What this process remembers of remote objects ----
 *
 * Their first or last bytes, where shard indexes are: programs open the same store again and again (QGIS for every
 * thread that draws), and an index costs a round trip. Only objects with a strong ETag are remembered. Later reads send
 * it along (If-Match), so that bytes of another object never pass for it. */

/* Indexes of 2000 shards of 1024 chunks. */
#define MEMORY_BYTES ((uint64_t)32 << 20)

/* One end of an object. */
struct remembered {
    uint64_t size;      /* of the object */
    size_t n;           /* bytes of the end */
    char etag[128];     /* objects with longer ones are not remembered */
    char generation[32];
    unsigned char bytes[];
};

static struct zs_cache cache = {.destroy = free, .budget = MEMORY_BYTES};

/* Of 128 bits: names are not compared, since no object takes those bytes that has another ETag. */
static struct zs_cache_key key_of(const char *root, const char *key, bool tail)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1;
    return (struct zs_cache_key){zs_hash(zs_hash(tail, root, r), key, k), zs_hash(zs_hash(ZS_HASH, key, k), root, r)};
}

/* Remembers the first (or last, `tail`) n bytes of an object with a strong ETag. Does nothing without memory: the next
 * opening requests it again. */
static void remember(const char *root, const char *key, bool tail, size_t n, const struct answer *a)
{
    const size_t size = sizeof(struct remembered) + n;
    struct remembered *m = n <= MEMORY_BYTES / 8 ? malloc(size) : NULL;
    if (m == NULL)
        return;
    m->size = a->total;
    m->n = n;
    memcpy(m->bytes, a->bytes, n);
    if ((size_t)snprintf(m->etag, sizeof m->etag, "%s", a->tag) < sizeof m->etag &&
        (size_t)snprintf(m->generation, sizeof m->generation, "%s", a->generation) < sizeof m->generation)
        zs_cache_release(zs_cache_put(&cache, key_of(root, key, tail), m, size));
    else
        free(m);
}

void zs_store_forget_all(void)
{
    zs_cache_clear(&cache);
}

/* ---- Opening ---- */

static enum zs_status fail_answer(const struct vsi_object *o, const char *expected, const struct answer *a,
                                  struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s: expected %s, found %s", o->name, expected, a->found);
}

/* Sets the size and the tag of an object, of an answer. Without memory for its generation it has none, and no commit
 * expects it. */
static enum zs_status set_object(struct vsi_object *o, uint64_t size, const struct answer *a, struct zs_error *err)
{
    o->tag = a->tag != NULL ? zs_strdup(a->tag) : NULL;
    o->generation = a->generation[0] != '\0' ? zs_strdup(a->generation) : NULL;
    if (a->tag != NULL && o->tag == NULL)
        return zs_fail_memory(err);
    o->is_plain = true;
    o->base.size = size;
    o->base.version = zs_hash(ZS_HASH ^ size, o->tag, o->tag != NULL ? strlen(o->tag) : 0);
    o->base.is_versioned = a->is_etag && o->tag[0] == '"'; /* a weak one begins with W/ */
    if (o->base.is_versioned)
        o->base.etag = zs_vsi_kind(o->base.store)->has_generations ? o->generation : o->tag;
    return ZS_OK;
}

/* Opens an object whose first (or last) bytes are remembered; leaves it as it is where they are not. */
static enum zs_status open_remembered(struct vsi_object *o, const char *key, struct zs_first_read *first,
                                      struct zs_error *err)
{
    const bool is_tail = first->kind == ZS_READ_TAIL;
    if (first->kind != ZS_READ_HEAD && !is_tail)
        return ZS_OK;
    struct zs_cache_entry *entry = zs_cache_get(&cache, key_of(o->base.store->path, key, is_tail));
    const struct remembered *m = entry != NULL ? zs_cache_value(entry) : NULL;
    enum zs_status status = ZS_OK;
    if (m != NULL && m->n == first->n && m->n > 0) {
        const struct answer a = {.tag = m->etag, .is_etag = true, .generation = m->generation};
        status = set_object(o, m->size, &a, err);
        o->base.is_remembered = first->is_read = status == ZS_OK;
    }
    if (first->is_read)
        memcpy(first->data, m->bytes, m->n);
    zs_cache_release(entry);
    return status;
}

/* Whether an answer has just the bytes that were asked for, of an object whose size it gives. */
static bool is_wanted_part(const struct zs_first_read *first, const struct answer *a)
{
    const size_t n = first->kind == ZS_READ_NONE ? 1 : first->n;
    const bool is_tail = first->kind == ZS_READ_TAIL;
    const uint64_t begin = first->kind == ZS_READ_RANGE ? first->offset : is_tail && a->total > n ? a->total - n : 0;
    return a->kind == ZS_HTTP_PART && a->total != UINT64_MAX && begin < a->total && a->first == begin &&
           a->size == zs_min_u64(n, a->total - begin);
}

/* Takes the bytes that were asked for, if the object has so many. */
static enum zs_status take_part(struct vsi_object *o, const char *key, struct zs_first_read *first,
                                const struct answer *a, struct zs_error *err)
{
    ZS_TRY(set_object(o, a->total, a, err));
    first->is_read = first->kind == ZS_READ_HEAD || first->kind == ZS_READ_TAIL || a->size == first->n;
    if (first->kind == ZS_READ_NONE || a->size < first->n)
        return ZS_OK;
    memcpy(first->data, a->bytes, first->n);
    if (first->kind != ZS_READ_RANGE && o->base.is_versioned)
        remember(o->base.store->path, key, first->kind == ZS_READ_TAIL, first->n, a);
    return ZS_OK;
}

/* Takes all bytes of an object. */
static enum zs_status take_whole(struct vsi_object *o, struct zs_first_read *first, const struct answer *a,
                                 struct zs_error *err)
{
    if (a->kind == ZS_HTTP_TOO_LONG || a->size > first->n)
        return zs_fail(err, ZS_INVALID, "%s: expected at most %zu bytes, found more", o->name, first->n);
    ZS_TRY(zs_buffer_reset(first->all, a->size, err));
    ZS_TRY(set_object(o, a->size, a, err));
    memcpy(first->all->data, a->bytes, a->size);
    first->all->size = a->size;
    first->is_read = true;
    return ZS_OK;
}

/* The Range header of what is read first: one byte where nothing is, NULL for all. */
static const char *range_of(const struct zs_first_read *first, char *text, size_t n)
{
    const uint64_t offset = first->kind == ZS_READ_RANGE ? first->offset : 0;
    const uint64_t count = first->kind == ZS_READ_NONE ? 1 : first->n;
    if (first->kind == ZS_READ_ALL)
        return NULL;
    if (first->kind == ZS_READ_TAIL)
        (void)snprintf(text, n, "-%zu", first->n);
    else
        (void)snprintf(text, n, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + count - 1));
    return text;
}

/* Opens an object through VSI, which finds credentials anew, follows buckets to their regions, and asks otherwise. What
 * it reads has no version that a commit could expect: a writer tries plain requests again (zs_http_forget()), and an
 * object store that has answered them is read by them alone. Where VSI fails as well, the server's own words are
 * reported. */
static enum zs_status open_by_vsi(struct vsi_object *o, const struct answer *a, struct zs_error *err)
{
    const enum zs_status status = zs_vsi_open_file(o, err);
    const bool is_known = status == ZS_OK || status == ZS_NO_MEMORY || (status == ZS_NOT_FOUND && !a->lacks_bucket);
    if (is_known)
        atomic_store(&http_of(o)->use_vsi, true);
    return is_known || a->result == NULL ? status : fail_answer(o, "the object", a, err);
}

/* Takes what an answer says of an object that is opened. */
static enum zs_status take_answer(struct vsi_object *o, const char *key, struct zs_first_read *first,
                                  const struct answer *a, struct zs_error *err)
{
    const bool is_all = first->kind == ZS_READ_ALL;
    if (a->kind == ZS_HTTP_ABSENT)
        return zs_fail(err, ZS_NOT_FOUND, "%s: there is no such object", o->name);
    if (is_all && (a->kind == ZS_HTTP_WHOLE || a->kind == ZS_HTTP_TOO_LONG))
        return take_whole(o, first, a, err);
    if (!is_all && is_wanted_part(first, a))
        return take_part(o, key, first, a, err);
    if (a->kind == ZS_HTTP_BEYOND && a->total != UINT64_MAX && (a->total == 0 || first->kind == ZS_READ_RANGE))
        return set_object(o, a->total, a, err); /* reading it says what is missing */
    /* VSI needs ranges, too, and takes another part for that which it asked for. */
    const bool is_other_part = a->kind == ZS_HTTP_PART && a->total != UINT64_MAX;
    const bool is_final = a->kind == ZS_HTTP_FAILED || a->kind == ZS_HTTP_TOO_LONG || is_other_part ||
                          (http_of(o)->is_signing && atomic_load(&http_of(o)->proven));
    return is_final ? fail_answer(o, "the object", a, err) : open_by_vsi(o, a, err);
}

enum zs_status zs_http_open(struct vsi_object *o, const char *key, struct zs_first_read *first, struct zs_error *err)
{
    struct zs_first_read none = {.kind = ZS_READ_NONE};
    struct answer a;
    char text[64];
    if (atomic_load(&http_of(o)->use_vsi))
        return zs_vsi_open_file(o, err);
    ZS_TRY(open_remembered(o, key, first, err));
    if (o->is_plain)
        return ZS_OK;
    /* What is not read with the opening is read behind it (store.c). */
    if (first->kind != ZS_READ_ALL && (first->n == 0 || first->n > MAX_ANSWER_BYTES))
        first = &none;
    request(o, range_of(first, text, sizeof text), NULL, (size_t)zs_min_u64(first->n, MAX_ANSWER_BYTES), &a);
    const enum zs_status status = take_answer(o, key, first, &a, err);
    answer_free(&a);
    return status;
}

/* ---- Reading ---- */

/* Whether an answer has bytes of another object than the one that was opened. */
static bool is_other(const struct vsi_object *o, const struct answer *a)
{
    const uint64_t total = a->kind == ZS_HTTP_WHOLE ? a->size : a->total;
    return (total != UINT64_MAX && total != o->base.size) ||
           (a->tag != NULL && o->tag != NULL && strcmp(a->tag, o->tag) != 0) ||
           (a->tag == NULL && o->base.is_remembered);
}

static enum zs_status read_part(struct vsi_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    const char *etag = o->base.is_versioned ? o->tag : NULL;
    char range[64], expected[80];
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + n - 1));
    snprintf(expected, sizeof expected, "bytes %s", range);
    struct answer a;
    request(o, range, etag, n, &a);
    enum zs_status status = ZS_OK;
    if (a.kind == ZS_HTTP_ABSENT || a.kind == ZS_HTTP_REPLACED || a.kind == ZS_HTTP_BEYOND ||
        ((a.kind == ZS_HTTP_PART || a.kind == ZS_HTTP_WHOLE) && is_other(o, &a)))
        status = zs_vsi_fail_replaced(o, err);
    else if (a.kind == ZS_HTTP_PART && a.first == offset && a.size == n)
        memcpy(data, a.bytes, n);
    else if (a.kind == ZS_HTTP_WHOLE)
        memcpy(data, a.bytes + offset, n);
    else
        status = fail_answer(o, expected, &a, err);
    answer_free(&a);
    return status;
}

enum zs_status zs_http_read(struct vsi_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    for (size_t part; n > 0; n -= part) {
        part = n < MAX_ANSWER_BYTES ? n : MAX_ANSWER_BYTES;
        ZS_TRY(read_part(o, offset, part, data, err));
        offset += part;
        data = (char *)data + part;
    }
    return ZS_OK;
}

/* ---- Stores ---- */

void zs_http_forget(struct zs_http *h, const char *root, const char *key)
{
    for (int tail = 0; tail < 2; tail++)
        zs_cache_remove(&cache, key_of(root, key, tail));
    atomic_store(&h->use_vsi, false); /* a writer needs a version: plain requests are tried again */
}

void zs_http_free(struct zs_http *h)
{
    if (h == NULL)
        return;
    for (size_t i = 0; h->pid == getpid() && i < h->idle_count; i++) {
        session_close(h, h->idle[i]);
        atomic_fetch_sub(&idle_sessions, 1);
    }
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Whether plain requests read from a path: its settings ask for nothing that only VSI's own requests do. */
static bool is_plain(const char *path)
{
    static const char *const prefixes[] = {"/vsicurl/http://", "/vsicurl/https://", "/vsis3/", "/vsigs/", "/vsiaz/"};
    static const char *const settings[] = {"VSICURL_PC_URL_SIGNING", "VSICURL_PC_COLLECTION", "VSICURL_QUERY_STRING"};
    bool is_ours = false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        is_ours = is_ours || strncmp(path, prefixes[i], strlen(prefixes[i])) == 0;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        is_ours = is_ours && zs_vsi_option(path, settings[i]) == NULL;
    return is_ours && CPLHTTPEnabled();
}

enum zs_status zs_http_create(const char *path, struct zs_http **http, struct zs_error *err)
{
    static atomic_uint count;
    *http = NULL;
    if (!is_plain(path))
        return ZS_OK;
    struct zs_http *h = zs_calloc(1, sizeof *h);
    ZS_TRY_MEMORY(h, err);
    pthread_mutex_init(&h->lock, NULL);
    h->pid = getpid();
    h->number = atomic_fetch_add(&count, 1);
    h->is_signing = strncmp(path, PLAIN, strlen(PLAIN)) != 0;
    *http = h;
    return ZS_OK;
}
