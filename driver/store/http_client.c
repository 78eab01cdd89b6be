#include "store/http.h"

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

#include "store/vsi.h"

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

struct zs_http_client {
    struct zs_store *vsi;
    bool is_signing; /* each object's URL is signed, of /vsis3/ and the like */

    /* GDAL keeps a connection open for each session name, and trusts that no two threads use one at a time. */
    unsigned number;
    pthread_mutex_t lock;
    pid_t pid; /* a forked child shares the sockets, and must not use them */
    unsigned session_count;
    unsigned *idle;
    size_t idle_count, idle_capacity;
};

/* ---- Connections ---- */

static atomic_int idle_sessions;

static void session_name(const struct zs_http_client *h, unsigned session, char *name, size_t n)
{
    snprintf(name, n, "ShardedZarr-%ld-%u-%u", (long)h->pid, h->number, session);
}

static unsigned session_take(struct zs_http_client *h)
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

static void session_close(const struct zs_http_client *h, unsigned session)
{
    char name[64];
    session_name(h, session, name, sizeof name);
    char **options = CSLSetNameValue(NULL, "CLOSE_PERSISTENT", name);
    CPLHTTPDestroyResult(CPLHTTPFetch("", options));
    CSLDestroy(options);
}

static void session_return(struct zs_http_client *h, unsigned session)
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

/* Settings that GDAL's client takes from the configuration. They may be set for one path (VSISetPathSpecificOption()),
 * which the client does not look at. */
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

void zs_http_answer_free(struct zs_http_answer *a)
{
    CPLHTTPDestroyResult((CPLHTTPResult *)a->result);
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

static char **request_options(const char *path, const char *session, const char *range, const char *etag, size_t limit)
{
    char **options = session != NULL ? CSLSetNameValue(NULL, "PERSISTENT", session) : NULL;
    for (size_t i = 0; i < sizeof client_options / sizeof client_options[0]; i++) {
        const char *value = zs_vsi_option(path, client_options[i][0]);
        if (value != NULL)
            options = CSLSetNameValue(options, client_options[i][1], value);
    }
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
 * or a challenge, and each should have a Date, early. Otherwise only a Content-Range and the headers behind it surely
 * belong to the last answer: no ETag is better than that of another answer. */
static int last_answer(char **lines)
{
    int last_mark = -1, last_date = -1, content_range = -1, answers = 1, dates = 0, i = 0;
    bool is_challenged = false;
    for (; lines != NULL && lines[i] != NULL; i++) {
        const bool is_challenge = has_name(lines[i], "WWW-Authenticate") || has_name(lines[i], "Proxy-Authenticate");
        if (is_challenge || has_name(lines[i], "Location"))
            last_mark = i;
        answers += has_name(lines[i], "Location") || (is_challenge && !is_challenged);
        is_challenged = is_challenged || is_challenge;
        if (has_name(lines[i], "Date")) {
            last_date = i;
            dates++;
        } else if (has_name(lines[i], "Content-Range")) {
            content_range = i;
        }
    }
    if (last_mark < 0)
        return 0;
    if (last_date > last_mark && dates >= answers)
        return last_date;
    return content_range > last_mark ? content_range : i;
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
static bool parse_content_range(const char *text, struct zs_http_answer *a)
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

/* Copies the text of an XML element, and only printable characters. */
static void copy_element(const char *xml, const char *name, char *text, size_t n)
{
    char begin[32];
    snprintf(begin, sizeof begin, "<%s>", name);
    const char *from = strstr(xml, begin);
    size_t used = 0;
    for (from = from != NULL ? from + strlen(begin) : ""; *from != '\0' && *from != '<' && used + 1 < n; from++)
        text[used++] = (unsigned char)*from < ' ' ? ' ' : *from;
    text[used] = '\0';
}

/* Adds why S3, or a server like it, refused: <Error><Code>AccessDenied</Code><Message>Access Denied</Message>. GDAL
 * ends its bytes with a zero. */
static void add_reason(struct zs_http_answer *a)
{
    char code[64], message[200];
    if (strstr(a->bytes, "<Error") == NULL)
        return;
    copy_element(a->bytes, "Code", code, sizeof code);
    copy_element(a->bytes, "Message", message, sizeof message);
    const size_t used = strlen(a->found);
    a->has_reason = code[0] != '\0';
    a->lacks_bucket = strcmp(code, "NoSuchBucket") == 0;
    if (a->has_reason)
        snprintf(a->found + used, sizeof a->found - used, " (%s%s%s)", code, message[0] != '\0' ? ": " : "", message);
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

static void classify(const CPLHTTPResult *result, bool is_range, size_t limit, struct zs_http_answer *a)
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
static bool is_xml_error(const CPLHTTPResult *result, const struct zs_http_answer *a)
{
    const char *type = result->pszContentType;
    /* GDAL ends it with a zero */
    return type != NULL && strstr(type, "xml") != NULL && strstr(a->bytes, "<Error>") != NULL;
}

/* Asks once. `session` names a connection that is kept; NULL: a new one. */
static void fetch(const char *url, const char *path, const char *session, const char *range, const char *etag,
                  size_t limit, int retries, struct zs_http_answer *a)
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

static struct zs_http_answer no_answer(void)
{
    return (struct zs_http_answer){
        .kind = ZS_HTTP_REFUSED, .bytes = "", .generation = "", .first = UINT64_MAX, .last = UINT64_MAX,
        .total = UINT64_MAX};
}

static void ask_once(struct zs_http_client *h, const char *path, const char *range, const char *etag, size_t limit,
                     int retries, struct zs_http_answer *a)
{
    *a = no_answer();
    char *url = h->is_signing ? zs_vsi_object_url(path) : zs_strdup(path + strlen(PLAIN));
    if (url != NULL) {
        char session[64];
        const unsigned number = session_take(h);
        session_name(h, number, session, sizeof session);
        fetch(url, path, session, range, etag, limit, retries, a);
        if (a->is_status_lost) { /* the connection is a new one now */
            zs_http_answer_free(a);
            *a = no_answer();
            fetch(url, path, session, range, etag, limit, retries, a);
        }
        session_return(h, number);
    } else {
        snprintf(a->found, sizeof a->found, "no URL for it");
    }
    free(url);
    if (a->kind == ZS_HTTP_WHOLE && h->is_signing && is_xml_error((const CPLHTTPResult *)a->result, a)) {
        a->kind = ZS_HTTP_REFUSED;
        add_reason(a);
    }
}

enum zs_http_kind zs_http_probe(const char *path, char *found, size_t n)
{
    struct zs_http_answer a = no_answer();
    char *url = zs_vsi_object_url(path);
    if (url != NULL && CPLHTTPEnabled())
        fetch(url, path, NULL, "0-0", NULL, MIN_ANSWER_LIMIT, -1, &a);
    free(url);
    if (a.kind == ZS_HTTP_WHOLE && a.size == 0)
        a.kind = ZS_HTTP_BEYOND;
    if (n > 0)
        snprintf(found, n, "%s", a.found);
    zs_http_answer_free(&a);
    return a.kind == ZS_HTTP_ABSENT && a.lacks_bucket ? ZS_HTTP_REFUSED : a.kind;
}

enum zs_status zs_http_get(struct zs_http_client *h, const char *key, const char *range, const char *etag, size_t limit,
                           struct zs_http_answer *a, struct zs_error *err)
{
    limit = limit < MIN_ANSWER_LIMIT ? MIN_ANSWER_LIMIT : limit;
    char *path = zs_vsi_path(h->vsi, key);
    ZS_TRY_MEMORY(path, err);
    struct zs_vsi_quiet q;
    zs_vsi_quiet_begin(&q, h->vsi);
    ask_once(h, path, range, etag, limit, -1, a);
    /* GDAL's client retries for the status of an answer, not for a body that is cut short. */
    struct zs_vsi_retries retries = zs_vsi_retries_of(path);
    while (a->is_cut && zs_vsi_retry(&retries)) {
        zs_http_answer_free(a);
        ask_once(h, path, range, etag, limit, retries.left, a);
    }
    zs_vsi_quiet_end(&q);
    free(path);
    return ZS_OK;
}

/* ---- The client ---- */

/* Whether settings ask for something that only VSI's own requests do. */
static bool belongs_to_vsi(const char *path)
{
    static const char *const settings[] = {"VSICURL_PC_URL_SIGNING", "VSICURL_PC_COLLECTION", "VSICURL_QUERY_STRING"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (zs_vsi_option(path, settings[i]) != NULL)
            return true;
    return false;
}

void zs_http_client_free(struct zs_http_client *h)
{
    if (h == NULL)
        return;
    if (h->pid == getpid())
        for (size_t i = 0; i < h->idle_count; i++) {
            session_close(h, h->idle[i]);
            atomic_fetch_sub(&idle_sessions, 1);
        }
    pthread_mutex_destroy(&h->lock);
    free(h->idle);
    free(h);
}

bool zs_http_client_signs(const struct zs_http_client *h)
{
    return h->is_signing;
}

enum zs_status zs_http_client_create(struct zs_store *vsi, struct zs_http_client **client, struct zs_error *err)
{
    static const char *const prefixes[] = {"/vsicurl/http://", "/vsicurl/https://", "/vsis3/", "/vsigs/", "/vsiaz/"};
    static atomic_uint count;
    bool is_ours = false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        is_ours = is_ours || strncmp(vsi->path, prefixes[i], strlen(prefixes[i])) == 0;
    *client = NULL;
    if (!is_ours || !CPLHTTPEnabled() || belongs_to_vsi(vsi->path))
        return ZS_OK;
    struct zs_http_client *h = zs_calloc(1, sizeof *h);
    ZS_TRY_MEMORY(h, err);
    pthread_mutex_init(&h->lock, NULL);
    h->vsi = vsi;
    h->pid = getpid();
    h->number = atomic_fetch_add(&count, 1);
    h->is_signing = strncmp(vsi->path, PLAIN, strlen(PLAIN)) != 0;
    *client = h;
    return ZS_OK;
}
