/* Objects read by plain GET requests through GDAL's HTTP client, with the settings that GDAL has for it. VSI's files
 * ask for the size first (HEAD), and cannot ask for the last n bytes. A GET with `Range: bytes=-n` brings both in one
 * round trip, since Content-Range has the size (RFC 9110, 14.4). The only file that includes cpl_http.h. */
#include "store/http.h"

#include <cpl_conv.h>
#include <cpl_http.h>
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
#include "base/map.h"
#include "store/vsi.h"

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
    bool is_strong_etag, is_etag; /* of the tag */
    const char *generation;       /* a number: x-goog-generation, else "" */
    char found[400];              /* for messages */
    bool has_reason;              /* found[] has the server's reason for its refusal */
    bool lacks_bucket;            /* ... that there is no such bucket, which is not an absent object */
    bool is_cut;                  /* ZS_HTTP_FAILED: the connection broke before the answer was complete */
    /* ZS_HTTP_FAILED: a kept connection was reset and curl repeated the request by itself; GDAL's client found curl's
     * message of the first attempt and ignored the status of the second. It is made once more. */
    bool is_status_lost;
};

struct http_store {
    struct zs_store base;
    bool is_signing;         /* each object's URL is signed, of /vsis3/ and the like */
    atomic_bool proven;      /* a plain request succeeded */
    atomic_int refusals;     /* until then */
    atomic_bool use_vsi;     /* since the last of them */
    atomic_bool no_suffix;   /* the server supports ranges, but not "the last n bytes" */
    atomic_bool no_if_match; /* the server denied an ETag that it had sent itself */

    /* GDAL keeps a connection open for each session name, and trusts that no two threads use one at a time. Each store
     * has its own: GDAL's handle behind a session keeps credentials. */
    unsigned number;
    pthread_mutex_t lock; /* of all below */
    pid_t pid;            /* a forked child shares the sockets, and must not use them */
    unsigned session_count;
    unsigned *idle;
    size_t idle_count, idle_capacity;
};

struct http_object {
    struct zs_object base;
    char *key;
    char *generation;
    char *tag; /* ETag or Last-Modified; NULL when the server sent neither */
    bool is_strong_etag;
    struct answer whole; /* the whole object, from a server that sends nothing less; else empty */
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
    unsigned *grown = keep ? zs_grow(h->idle, h->idle_count, &h->idle_capacity, sizeof *grown) : NULL;
    if (grown != NULL) {
        h->idle = grown;
        h->idle[h->idle_count++] = session;
    }
    pthread_mutex_unlock(&h->lock);
    if (grown == NULL) {
        atomic_fetch_sub(&idle_sessions, 1);
        session_close(h, session);
    }
}

/* ---- Requests ---- */

/* Settings that GDAL's client takes from the configuration, where their names begin with GDAL_HTTP_ or as the second
 * list says. They may be set for one path (VSISetPathSpecificOption()), which the client does not look at. */
static const char *const client_options[] = {
    "CONNECTTIMEOUT", "TIMEOUT", "LOW_SPEED_TIME", "LOW_SPEED_LIMIT", "USERPWD", "PROXY", "PROXYUSERPWD", "NETRC",
    "NETRC_FILE", "MAX_RETRY", "RETRY_DELAY", "RETRY_CODES", "HEADER_FILE", "CAPATH", "SSL_VERIFYSTATUS", "SSLCERT",
    "SSLCERTTYPE", "SSLKEY", "KEYPASSWD", "UNSAFESSL", "COOKIE", "COOKIEFILE", "COOKIEJAR", "TCP_KEEPALIVE",
    "TCP_KEEPIDLE", "TCP_KEEPINTVL", "USERAGENT"};
static const char *const other_options[][2] = {
    {"GDAL_HTTP_VERSION", "HTTP_VERSION"},  {"GDAL_HTTPS_PROXY", "HTTPS_PROXY"},
    {"GDAL_PROXY_AUTH", "PROXYAUTH"},       {"GDAL_CURL_CA_BUNDLE", "CAINFO"},
    {"GDAL_HTTP_AUTH", "HTTPAUTH"},         {"GDAL_HTTP_BEARER", "HTTP_BEARER"},
    {"GDAL_GSSAPI_DELEGATION", "GSSAPI_DELEGATION"}};

static void answer_free(struct answer *a)
{
    CPLHTTPDestroyResult(a->result);
    a->result = NULL;
}

/* Adds the header lines of GDAL_HTTP_HEADERS, which GDAL splits at line ends, else at commas, and not at all when no
 * second colon follows the first comma ("Accept: a, b"). */
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

/* Commas stand between quoted lines: at line ends GDAL 3.6 takes the quotes of a value away, later ones do not. */
char *zs_http_headers_with(const char *path, const char *line)
{
    const char *user = zs_vsi_option(path, "GDAL_HTTP_HEADERS");
    char **lines = CSLAddString(user != NULL ? add_user_headers(NULL, user) : NULL, line);
    char *text = zs_strdup("");
    for (char **l = lines; text != NULL && *l != NULL; l++) {
        char *escaped = CPLEscapeString(*l, -1, CPLES_BackslashQuotable);
        char *longer = zs_format("%s%s\"%s\"", text, text[0] != '\0' ? "," : "", escaped);
        CPLFree(escaped);
        free(text);
        text = longer;
    }
    CSLDestroy(lines);
    return text;
}

static char **add_option(char **options, const char *path, const char *setting, const char *name)
{
    const char *value = zs_vsi_option(path, setting);
    return value != NULL ? CSLSetNameValue(options, name, value) : options;
}

static char **request_options(const char *path, const char *session, const char *range, const char *etag, size_t limit)
{
    char **options = session != NULL ? CSLSetNameValue(NULL, "PERSISTENT", session) : NULL;
    for (size_t i = 0; i < sizeof client_options / sizeof client_options[0]; i++)
        options = add_option(options, path, CPLSPrintf("GDAL_HTTP_%s", client_options[i]), client_options[i]);
    for (size_t i = 0; i < sizeof other_options / sizeof other_options[0]; i++)
        options = add_option(options, path, other_options[i][0], other_options[i][1]);
    /* The handle behind a session keeps its last setting, so this is always set. */
    options = CSLSetNameValue(options, "MAX_FILE_SIZE", CPLSPrintf("%zu", limit));

    char **lines = NULL;
    const char *user = zs_vsi_option(path, "GDAL_HTTP_HEADERS");
    if (user != NULL)
        lines = add_user_headers(lines, user);
    if (range != NULL)
        lines = CSLAddString(lines, CPLSPrintf("Range: bytes=%s", range));
    /* Ranges of compressed bytes are of no use. What a proxy compresses has an ETag that no commit can expect. */
    if (range != NULL || strncmp(path, PLAIN, strlen(PLAIN)) != 0)
        lines = CSLAddString(lines, "Accept-Encoding: identity");
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

static bool has_name(const char *line, const char *name)
{
    const size_t n = strlen(name);
    return strncasecmp(line, name, n) == 0 && line[n] == '=';
}

/* Finds where the headers of the last answer surely begin. curl follows redirections and answers challenges, and GDAL
 * puts the headers of all answers into one list, without their status lines. Each answer before the last has a Location
 * or a challenge, and each should have a Date, early. Without one, only a Content-Range and the headers behind it
 * surely belong to the last answer: no ETag is better than that of another answer. */
static int last_answer(char **lines)
{
    int mark = -1, begin = -1, i = 0;
    for (; lines != NULL && lines[i] != NULL; i++) {
        if (has_name(lines[i], "WWW-Authenticate") || has_name(lines[i], "Proxy-Authenticate") ||
            has_name(lines[i], "Location")) {
            mark = i;
            begin = -1;
        } else if (has_name(lines[i], "Date") || (begin < 0 && has_name(lines[i], "Content-Range"))) {
            begin = i;
        }
    }
    return mark < 0 ? 0 : begin >= 0 ? begin : i;
}

/* A header of the last answer. */
static const char *header(const CPLHTTPResult *result, const char *name)
{
    const char *value = NULL;
    for (int i = last_answer(result->papszHeaders); result->papszHeaders != NULL && result->papszHeaders[i] != NULL;
         i++)
        if (has_name(result->papszHeaders[i], name))
            value = result->papszHeaders[i] + strlen(name) + 1;
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
    char *code = zs_vsi_xml_text(a->bytes, "Code"), *message = zs_vsi_xml_text(a->bytes, "Message");
    const size_t used = strlen(a->found);
    a->has_reason = code != NULL;
    a->lacks_bucket = code != NULL && strcmp(code, "NoSuchBucket") == 0;
    if (a->has_reason)
        snprintf(a->found + used, sizeof a->found - used, " (%.64s%s%.200s)", code, message != NULL ? ": " : "",
                 message != NULL ? message : "");
    free(code);
    free(message);
}

/* curl's codes for a connection that broke (curl.h is not ours to include): part of a file, nothing, sending,
 * receiving, an HTTP/2 stream. */
static bool is_broken(int code)
{
    return code == 18 || code == 52 || code == 55 || code == 56 || code == 92;
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

static void classify(const CPLHTTPResult *result, bool is_range, size_t limit, struct answer *a)
{
    const char *error = result->pszErrBuf != NULL ? result->pszErrBuf : "";
    const char *content_range = header(result, "Content-Range"), *length = header(result, "Content-Length");
    const bool has_range = content_range != NULL && parse_content_range(content_range, a);
    const bool is_part = has_range && is_range && a->first <= a->last && a->last - a->first + 1 == a->size;
    const int code = http_status(result);
    a->is_status_lost = result->nStatus == 0 && code == 0 && error[0] != '\0' && !is_part;
    if (code != 0)
        snprintf(a->found, sizeof a->found, "HTTP status %d", code);
    else if (a->is_status_lost)
        snprintf(a->found, sizeof a->found, "an answer of unknown status (%.150s)", error);
    else if (result->nStatus != 0)
        snprintf(a->found, sizeof a->found, "%.150s (curl error %d)", error, result->nStatus);
    else if (content_range != NULL)
        snprintf(a->found, sizeof a->found, "%d bytes with Content-Range: %.100s", result->nDataLen, content_range);
    else
        snprintf(a->found, sizeof a->found, "%d bytes without Content-Range", result->nDataLen);

    if (code != 0)
        add_reason(a);
    if ((code == 404 && !a->lacks_bucket) || code == 410)
        a->kind = ZS_HTTP_ABSENT;
    else if (code == 412)
        a->kind = ZS_HTTP_REPLACED;
    else if (code == 416)
        a->kind = ZS_HTTP_BEYOND;
    else if ((code >= 400 && code < 500 && code != 408 && code != 429) || code == 501)
        a->kind = ZS_HTTP_REFUSED;
    else if (code != 0)
        a->kind = ZS_HTTP_FAILED;
    else if (result->nStatus == CURL_FILESIZE_EXCEEDED || (result->nStatus == CURL_WRITE_ERROR && a->size > limit))
        a->kind = has_range ? ZS_HTTP_FAILED : ZS_HTTP_TOO_LONG;
    else if (result->nStatus != 0 || a->is_status_lost)
        a->kind = ZS_HTTP_FAILED;
    else if (has_range && a->first <= a->last)
        a->kind = is_part ? ZS_HTTP_PART : ZS_HTTP_FAILED;
    else if (length != NULL && header(result, "Content-Encoding") == NULL && strtoull(length, NULL, 10) != a->size)
        a->kind = ZS_HTTP_FAILED; /* cut short: a setting makes curl ignore that */
    else
        a->kind = ZS_HTTP_WHOLE;
    a->is_cut = a->kind == ZS_HTTP_FAILED && code == 0 &&
                (is_broken(result->nStatus) || (result->nStatus == 0 && (length != NULL || has_range)));
}

/* Whether an answer is a refusal: object stores send some (another region) as redirections that lead nowhere. */
static bool is_xml_error(const CPLHTTPResult *result, const struct answer *a)
{
    const char *type = result->pszContentType;
    /* GDAL ends it with a zero */
    return type != NULL && strstr(type, "xml") != NULL && strstr(a->bytes, "<Error>") != NULL;
}

/* Asks once. `session` names a connection that is kept; NULL: a new one. */
static void fetch(const char *url, const char *path, const char *session, const char *range, const char *etag,
                  size_t limit, int retries, struct answer *a)
{
    char **options = request_options(path, session, range, etag, limit);
    if (retries >= 0)
        options = CSLSetNameValue(options, "MAX_RETRY", CPLSPrintf("%d", retries));
    /* Ours have the user's headers in them; GDAL 3.6 would send those of the configuration a second time. */
    const char *local = CPLGetThreadLocalConfigOption("GDAL_HTTP_HEADERS", NULL);
    char *kept = local != NULL ? zs_strdup(local) : NULL;
    CPLSetThreadLocalConfigOption("GDAL_HTTP_HEADERS", "");
    CPLHTTPResult *r = CPLHTTPFetch(url, options);
    CPLSetThreadLocalConfigOption("GDAL_HTTP_HEADERS", kept);
    free(kept);
    CSLDestroy(options);
    a->result = r;
    if (r == NULL)
        return;
    if (r->pabyData != NULL && r->nDataLen > 0) {
        a->bytes = (const char *)r->pabyData;
        a->size = (size_t)r->nDataLen;
    }
    classify(r, range != NULL, limit, a);
    const char *found_etag = header(r, "ETag");
    a->tag = found_etag != NULL && found_etag[0] != '\0' ? found_etag : header(r, "Last-Modified");
    a->is_etag = a->tag != NULL && a->tag == found_etag;
    a->is_strong_etag = a->is_etag && a->tag[0] == '"';
    const char *generation = header(r, "x-goog-generation");
    a->generation = generation != NULL && generation[strspn(generation, "0123456789")] == '\0' ? generation : "";
}

static struct answer no_answer(void)
{
    return (struct answer){
        .kind = ZS_HTTP_REFUSED, .bytes = "", .generation = "", .first = UINT64_MAX, .last = UINT64_MAX,
        .total = UINT64_MAX};
}

static void ask_once(struct http_store *h, const char *path, const char *range, const char *etag, size_t limit,
                     int retries, struct answer *a)
{
    *a = no_answer();
    char *url = h->is_signing ? zs_vsi_object_url(path) : zs_strdup(path + strlen(PLAIN));
    if (url != NULL) {
        char session[64];
        const unsigned number = session_take(h);
        session_name(h, number, session, sizeof session);
        fetch(url, path, session, range, etag, limit, retries, a);
        if (a->is_status_lost) { /* the connection is a new one now */
            answer_free(a);
            *a = no_answer();
            fetch(url, path, session, range, etag, limit, retries, a);
        }
        session_return(h, number);
    } else {
        snprintf(a->found, sizeof a->found, "no URL for it");
    }
    free(url);
    if (a->kind == ZS_HTTP_WHOLE && h->is_signing && is_xml_error(a->result, a)) {
        a->kind = ZS_HTTP_REFUSED;
        add_reason(a);
    }
}

enum zs_http_kind zs_http_probe(const char *path, char *found, size_t n)
{
    struct answer a = no_answer();
    char *url = zs_vsi_object_url(path);
    if (url != NULL && CPLHTTPEnabled())
        fetch(url, path, NULL, "0-0", NULL, MIN_ANSWER_LIMIT, -1, &a);
    free(url);
    if (a.kind == ZS_HTTP_WHOLE && a.size == 0)
        a.kind = ZS_HTTP_BEYOND;
    if (n > 0)
        snprintf(found, n, "%s", a.found);
    answer_free(&a);
    return a.kind == ZS_HTTP_ABSENT && a.lacks_bucket ? ZS_HTTP_REFUSED : a.kind;
}

/* Makes one GET request, from any thread. `range` as in a Range header ("0-19", "-20"); NULL for all. `etag`, unless
 * NULL, must still be the object's. May break off an answer of more than `limit` bytes. Retries an answer that is cut
 * short as GDAL's client retries a server's errors (GDAL_HTTP_MAX_RETRY, GDAL_HTTP_RETRY_DELAY). Fails only without
 * memory; every other failure is in the answer. */
static enum zs_status request(struct http_store *h, const char *key, const char *range, const char *etag, size_t limit,
                              struct answer *a, struct zs_error *err)
{
    limit = limit < MIN_ANSWER_LIMIT ? MIN_ANSWER_LIMIT : limit;
    char *path = zs_vsi_path(h->base.inner, key);
    ZS_TRY_MEMORY(path, err);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, h->base.inner);
    ask_once(h, path, range, etag, limit, -1, a);
    /* GDAL's client retries for the status of an answer, not for a body that is cut short. */
    struct zs_vsi_retries retries = zs_vsi_retries_of(path);
    while (a->is_cut && zs_vsi_retry(&retries)) {
        answer_free(a);
        ask_once(h, path, range, etag, limit, retries.left, a);
    }
    zs_vsi_quiet_end(&q);
    free(path);
    if (a->kind == ZS_HTTP_PART || a->kind == ZS_HTTP_WHOLE)
        atomic_store(&h->proven, true);
    return ZS_OK;
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
    uint64_t size; /* of the object */
    size_t n;      /* bytes of the end */
    const char *etag, *generation; /* "": none */
    const unsigned char *bytes;
    char data[]; /* etag, generation, bytes */
};

static struct zs_cache *cache;

static struct zs_cache *the_cache(void)
{
    return zs_cache_once(&cache, MEMORY_BYTES, free);
}

/* Of 128 bits: names are not compared, since no object takes those bytes that has another ETag. */
static struct zs_cache_key key_of(const char *root, const char *key, bool tail)
{
    const size_t r = strlen(root) + 1, k = strlen(key) + 1;
    return (struct zs_cache_key){zs_hash(zs_hash(tail, root, r), key, k), zs_hash(zs_hash(ZS_HASH, key, k), root, r)};
}

/* Remembers the first (or last, `tail`) n bytes of an object with a strong ETag, all copied. Does nothing without
 * memory: the next opening requests it again. */
static void remember(const char *root, const char *key, bool tail, size_t n, const struct answer *a)
{
    const size_t e = strlen(a->tag) + 1, g = strlen(a->generation) + 1, size = sizeof(struct remembered) + e + g + n;
    struct remembered *m = the_cache() != NULL && n <= MEMORY_BYTES / 8 ? malloc(size) : NULL;
    if (m == NULL)
        return;
    *m = (struct remembered){.size = a->total, .n = n};
    m->etag = memcpy(m->data, a->tag, e);
    m->generation = memcpy(m->data + e, a->generation, g);
    m->bytes = memcpy(m->data + e + g, a->bytes, n);
    struct zs_cache_entry *entry = zs_cache_put(cache, key_of(root, key, tail), m, size);
    if (entry != NULL)
        zs_cache_release(cache, entry);
    else
        free(m);
}

void zs_store_forget_all(void)
{
    if (the_cache() != NULL)
        zs_cache_clear(cache);
}

/* ---- When VSI reads instead, and failures ---- */

/* So many refusals are not of the moment, as those of credentials are that end just then. */
#define MOST_REFUSALS 3

/* Whether VSI may read what was refused: it does more than a signed URL, follows buckets to their regions, and finds
 * credentials anew. But what it reads has no version that a commit could expect. */
static bool is_for_vsi(struct http_store *h, const struct answer *a)
{
    if (a->kind != ZS_HTTP_REFUSED || !h->is_signing || atomic_load(&h->proven))
        return false;
    atomic_fetch_add(&h->refusals, 1);
    atomic_store(&h->use_vsi, true);
    return true;
}

static enum zs_status fail_absent(const struct http_store *h, const char *key, struct zs_error *err)
{
    return zs_fail(err, ZS_NOT_FOUND, "%s/%s: there is no such object", h->base.root, key);
}

static enum zs_status fail_answer(const struct http_store *h, const char *key, const char *expected,
                                  const struct answer *a, struct zs_error *err)
{
    return zs_fail(err, ZS_IO, "%s/%s: expected %s, found %s", h->base.root, key, expected, a->found);
}

/* Returns the status of the same request through VSI. If that failed as well, reports the server's own words rather
 * than VSI's. */
static enum zs_status after_vsi(const struct http_store *h, const char *key, const char *expected,
                                const struct answer *a, enum zs_status status, struct zs_error *err)
{
    const bool is_known = status == ZS_OK || status == ZS_NO_MEMORY || (status == ZS_NOT_FOUND && !a->lacks_bucket);
    return is_known || !a->has_reason ? status : fail_answer(h, key, expected, a, err);
}

/* ---- Opening ---- */

static void http_close(struct zs_object *object)
{
    struct http_object *o = (struct http_object *)object;
    if (o->whole.result != NULL)
        zs_budget_give(o->whole.size);
    answer_free(&o->whole);
    free(o->key);
    free(o->tag);
    free(o->generation);
    free(o);
}

/* Makes an object; `tag` may be NULL. Without memory for its generation it has none, and no commit expects it. */
static enum zs_status object_new(struct http_store *h, const char *key, uint64_t size, const char *tag,
                                 bool is_strong_etag, const char *generation, struct http_object **object,
                                 struct zs_error *err)
{
    struct http_object *o = zs_calloc(1, sizeof *o);
    ZS_TRY_MEMORY(o, err);
    o->key = zs_strdup(key);
    o->tag = tag != NULL ? zs_strdup(tag) : NULL;
    o->generation = generation[0] != '\0' ? zs_strdup(generation) : NULL;
    if (o->key == NULL || (tag != NULL && o->tag == NULL)) {
        http_close(&o->base);
        return zs_fail_memory(err);
    }
    o->is_strong_etag = is_strong_etag;
    o->base = (struct zs_object){.store = &h->base, .size = size, .generation = o->generation};
    o->base.version = zs_hash(ZS_HASH ^ size, o->tag, tag != NULL ? strlen(tag) : 0);
    o->base.is_versioned = tag != NULL && is_strong_etag;
    o->base.etag = is_strong_etag ? o->tag : NULL;
    *object = o;
    return ZS_OK;
}

static enum zs_status object_of(struct http_store *h, const char *key, uint64_t size, const struct answer *a,
                                struct http_object **object, struct zs_error *err)
{
    ZS_TRY(object_new(h, key, size, a->tag, a->is_strong_etag, a->generation, object, err));
    (*object)->base.etag = a->is_etag ? (*object)->tag : NULL;
    return ZS_OK;
}

/* Opens an object whose first (or last) bytes are remembered; leaves *object NULL where they are not. */
static enum zs_status open_remembered(struct http_store *h, const char *key, struct zs_first_read *first,
                                      struct http_object **object, struct zs_error *err)
{
    const bool is_tail = first->kind == ZS_READ_TAIL;
    if ((first->kind != ZS_READ_HEAD && !is_tail) || atomic_load(&h->no_if_match) || the_cache() == NULL)
        return ZS_OK;
    struct zs_cache_entry *entry = zs_cache_get(cache, key_of(h->base.path, key, is_tail));
    const struct remembered *m = entry != NULL ? zs_cache_value(entry) : NULL;
    enum zs_status status = ZS_OK;
    if (m != NULL && m->n == first->n && m->n > 0) {
        status = object_new(h, key, m->size, m->etag, true, m->generation, object, err);
        first->is_read = status == ZS_OK;
    }
    if (first->is_read) {
        (*object)->base.is_remembered = true;
        memcpy(first->data, m->bytes, m->n);
    }
    if (entry != NULL)
        zs_cache_release(cache, entry);
    return status;
}

/* Makes an object of the bytes that were asked for, and copies them if it has so many. */
static enum zs_status take_part(struct http_store *h, const char *key, struct zs_first_read *first,
                                const struct answer *a, struct http_object **object, struct zs_error *err)
{
    const size_t n = first->kind == ZS_READ_NONE ? 1 : first->n;
    const bool is_tail = first->kind == ZS_READ_TAIL, has_size = a->total != UINT64_MAX;
    const uint64_t begin = first->kind == ZS_READ_RANGE ? first->offset : is_tail && a->total > n ? a->total - n : 0;
    const uint64_t wanted = has_size && begin < a->total ? zs_min_u64(n, a->total - begin) : 0;
    if (!has_size || a->first != begin || a->size != wanted)
        return fail_answer(h, key, "the bytes that were asked for, and the size", a, err);
    ZS_TRY(object_of(h, key, a->total, a, object, err));
    first->is_read = first->kind != ZS_READ_NONE && (first->kind != ZS_READ_RANGE || wanted == n);
    if (first->kind == ZS_READ_NONE || wanted < n)
        return ZS_OK;
    memcpy(first->data, a->bytes, n);
    if (first->kind != ZS_READ_RANGE && a->is_strong_etag && !atomic_load(&h->no_if_match))
        remember(h->base.path, key, is_tail, n, a);
    return ZS_OK;
}

/* Makes an object of all its bytes: copies them, or keeps them, since this server sends nothing less. */
static enum zs_status take_whole(struct http_store *h, const char *key, struct zs_first_read *first, struct answer *a,
                                 struct http_object **object, struct zs_error *err)
{
    ZS_TRY(object_of(h, key, a->size, a, object, err));
    if (first->kind != ZS_READ_ALL) {
        (void)zs_budget_take(a->size);
        (*object)->whole = *a;
        a->result = NULL;
        return ZS_OK;
    }
    const enum zs_status status = zs_buffer_reset(first->all, a->size, err);
    if (status == ZS_OK && a->size > 0)
        memcpy(first->all->data, a->bytes, a->size);
    first->all->size = status == ZS_OK ? a->size : 0;
    first->is_read = true;
    return status;
}

/* Requests all of an object, from a server that sends nothing less. */
static enum zs_status open_whole(struct http_store *h, const char *key, struct zs_first_read *first,
                                 struct http_object **object, struct zs_error *err)
{
    const uint64_t limit = zs_min_u64(zs_budget(), MAX_ANSWER_BYTES);
    struct answer a;
    ZS_TRY(request(h, key, NULL, NULL, (size_t)limit, &a, err));
    enum zs_status status = ZS_OK;
    if (a.kind == ZS_HTTP_WHOLE && a.size <= limit)
        status = take_whole(h, key, first, &a, object, err);
    else if (a.kind == ZS_HTTP_WHOLE || a.kind == ZS_HTTP_TOO_LONG)
        status = zs_fail(err, ZS_IO,
                         "%s/%s: expected a server that knows byte ranges, found one that sends all of an object, "
                         "and this has more than %llu bytes, the budget for that (a quarter of GDAL_CACHEMAX)",
                         h->base.root, key, (unsigned long long)limit);
    else
        status = fail_answer(h, key, "the object", &a, err);
    answer_free(&a);
    return status;
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

/* Whether a plainer range may succeed: some servers take "-20" for "0-20", others refuse it. */
static bool wants_plain_range(const struct zs_first_read *first, const struct answer *a)
{
    if (first->kind != ZS_READ_TAIL && first->kind != ZS_READ_RANGE)
        return false;
    if (a->kind == ZS_HTTP_PART)
        return first->kind == ZS_READ_TAIL && a->total != UINT64_MAX && a->first == 0 && a->total > first->n;
    return a->kind == ZS_HTTP_REFUSED || a->kind == ZS_HTTP_TOO_LONG || a->kind == ZS_HTTP_REPLACED ||
           (a->kind == ZS_HTTP_BEYOND && a->total != 0 && first->kind == ZS_READ_TAIL);
}

/* What an answer to the opening of an object means. */
static enum zs_status take_answer(struct http_store *h, const char *key, struct zs_first_read *first, struct answer *a,
                                  struct http_object **object, struct zs_error *err)
{
    if (a->kind == ZS_HTTP_ABSENT)
        return fail_absent(h, key, err);
    if (a->kind == ZS_HTTP_WHOLE && (first->kind != ZS_READ_ALL || a->size <= first->n))
        return take_whole(h, key, first, a, object, err);
    if (first->kind == ZS_READ_ALL && (a->kind == ZS_HTTP_WHOLE || a->kind == ZS_HTTP_TOO_LONG))
        return zs_fail(err, ZS_INVALID, "%s/%s: expected at most %zu bytes, found more", h->base.root, key, first->n);
    if (a->kind == ZS_HTTP_PART)
        return take_part(h, key, first, a, object, err);
    if (a->kind == ZS_HTTP_BEYOND && a->total != UINT64_MAX && (a->total == 0 || first->kind == ZS_READ_RANGE))
        return object_of(h, key, a->total, a, object, err); /* reading it says what is missing */
    return a->kind == ZS_HTTP_TOO_LONG ? open_whole(h, key, first, object, err)
                                       : fail_answer(h, key, "the object", a, err);
}

static enum zs_status http_open(struct zs_store *store, const char *key, struct zs_first_read *first,
                                struct zs_object **opened, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)store;
    struct http_object *object = NULL;
    struct zs_first_read none = {.kind = ZS_READ_NONE};
    struct answer a;
    char text[64];
    if (atomic_load(&h->use_vsi))
        return zs_object_open_first(store->inner, key, first, opened, err);
    ZS_TRY(open_remembered(h, key, first, &object, err));
    if (object != NULL) {
        *opened = &object->base;
        return ZS_OK;
    }
    /* What is not read with the opening is read behind it (store.c). */
    const bool is_all = first->kind == ZS_READ_ALL;
    if (!is_all && (first->n == 0 || first->n > MAX_ANSWER_BYTES ||
                    (first->kind == ZS_READ_TAIL && atomic_load(&h->no_suffix))))
        first = &none;
    const size_t limit = is_all ? (size_t)zs_min_u64(first->n, MAX_ANSWER_BYTES) : first == &none ? 1 : first->n;
    ZS_TRY(request(h, key, range_of(first, text, sizeof text), NULL, limit, &a, err));
    enum zs_status status;
    if (wants_plain_range(first, &a)) {
        status = zs_object_open(store, key, opened, err);
        if (status == ZS_OK && first->kind == ZS_READ_TAIL)
            atomic_store(&h->no_suffix, true);
    } else if (is_for_vsi(h, &a)) {
        status = after_vsi(h, key, "the object", &a, zs_object_open_first(store->inner, key, first, opened, err), err);
    } else {
        status = take_answer(h, key, first, &a, &object, err);
        if (status == ZS_OK)
            *opened = &object->base;
        else if (object != NULL)
            http_close(&object->base);
    }
    answer_free(&a);
    return status;
}

/* ---- Reading ---- */

static enum zs_status fail_replaced(struct http_object *o, struct zs_error *err)
{
    __atomic_store_n(&o->base.is_stale, true, __ATOMIC_RELAXED);
    return zs_fail(err, ZS_IO, "%s/%s: the object was replaced while it was read", o->base.store->root, o->key);
}

/* Whether an answer has bytes of another object than the one that was opened. */
static bool is_other(const struct http_object *o, const struct answer *a)
{
    const uint64_t total = a->kind == ZS_HTTP_WHOLE ? a->size : a->total;
    return (total != UINT64_MAX && total != o->base.size) ||
           (a->tag != NULL && o->tag != NULL && strcmp(a->tag, o->tag) != 0) ||
           (a->tag == NULL && o->base.is_remembered);
}

static enum zs_status read_part(struct http_object *o, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_store *h = (struct http_store *)o->base.store;
    const char *etag = o->is_strong_etag && !atomic_load(&h->no_if_match) ? o->tag : NULL;
    char range[64], expected[80];
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)offset, (unsigned long long)(offset + n - 1));
    snprintf(expected, sizeof expected, "bytes %s", range);
    struct answer a;
    ZS_TRY(request(h, o->key, range, etag, n, &a, err));
    enum zs_status status = ZS_OK;
    if (a.kind == ZS_HTTP_REPLACED)
        atomic_store(&h->no_if_match, true); /* ETags of answers are compared all the same */
    if (a.kind == ZS_HTTP_ABSENT || a.kind == ZS_HTTP_REPLACED || a.kind == ZS_HTTP_BEYOND ||
        ((a.kind == ZS_HTTP_PART || a.kind == ZS_HTTP_WHOLE) && is_other(o, &a)))
        status = fail_replaced(o, err);
    else if (a.kind == ZS_HTTP_PART && a.first == offset && a.size == n)
        memcpy(data, a.bytes, n);
    else if (a.kind == ZS_HTTP_WHOLE)
        memcpy(data, a.bytes + offset, n);
    else
        status = fail_answer(h, o->key, expected, &a, err);
    answer_free(&a);
    return status;
}

static enum zs_status http_read(struct zs_object *object, uint64_t offset, size_t n, void *data, struct zs_error *err)
{
    struct http_object *o = (struct http_object *)object;
    if (o->whole.result != NULL) {
        memcpy(data, o->whole.bytes + offset, n);
        return ZS_OK;
    }
    for (size_t part; n > 0; n -= part) {
        part = n < MAX_ANSWER_BYTES ? n : MAX_ANSWER_BYTES;
        ZS_TRY(read_part(o, offset, part, data, err));
        offset += part;
        data = (char *)data + part;
    }
    return ZS_OK;
}

/* ---- The store ---- */

static enum zs_status http_list(struct zs_store *store, const char *prefix, char ***names, struct zs_error *err)
{
    return store->inner->ops->list(store->inner, prefix, names, err); /* with temporary files */
}

static void http_forget(struct zs_store *store, const char *key)
{
    struct http_store *h = (struct http_store *)store;
    for (int tail = 0; tail < 2 && the_cache() != NULL; tail++)
        zs_cache_remove(cache, key_of(store->path, key, tail));
    if (atomic_load(&h->refusals) < MOST_REFUSALS) /* a writer needs a version: plain requests are tried again */
        atomic_store(&h->use_vsi, false);
}

static void http_free(struct zs_store *store)
{
    struct http_store *h = (struct http_store *)store;
    for (size_t i = 0; h->pid == getpid() && i < h->idle_count; i++) {
        session_close(h, h->idle[i]);
        atomic_fetch_sub(&idle_sessions, 1);
    }
    pthread_mutex_destroy(&h->lock);
    free(h->idle);
    zs_store_free(h->base.inner);
    free(h->base.root);
    free(h);
}

static const struct zs_store_ops ops = {.open = http_open,
                                        .read = http_read,
                                        .close = http_close,
                                        .list = http_list,
                                        .free = http_free,
                                        .forget = http_forget};

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

enum zs_status zs_store_open_http(struct zs_store *vsi, struct zs_store **store, struct zs_error *err)
{
    static atomic_uint count;
    *store = vsi;
    if (!is_plain(vsi->path))
        return ZS_OK;
    char *root = zs_strdup(vsi->root);
    struct http_store *h = zs_calloc(1, sizeof *h);
    if (h == NULL || root == NULL) {
        zs_store_free(vsi);
        free(root);
        free(h);
        return zs_fail_memory(err);
    }
    h->base = *vsi;
    h->base.ops = &ops;
    h->base.inner = vsi;
    h->base.root = root;
    h->base.can_expect = zs_vsi_kind(vsi)->sends_conditions;
    h->base.has_generations = zs_vsi_kind(vsi)->has_generations;
    pthread_mutex_init(&h->lock, NULL);
    h->pid = getpid();
    h->number = atomic_fetch_add(&count, 1);
    h->is_signing = strncmp(vsi->path, PLAIN, strlen(PLAIN)) != 0;
    *store = &h->base;
    return ZS_OK;
}
