/* Paths of GDAL's virtual file systems, their kinds, the names of objects in them and in messages; GDAL's errors and
 * settings around the calls. */
#define _GNU_SOURCE /* VSIStatBufL is a struct stat64 */
#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_multiproc.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/vsi.h"

static bool begins(const char *path, const char *prefix)
{
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The path of the file that a prefix looks into, in `*decoded` (freed with CPLFree()) or in `path` itself; NULL when it
 * looks into none. */
static const char *path_within(const char *path, bool *is_archive, char **decoded)
{
    static const char *const archives[] = {"/vsizip/", "/vsitar/", "/vsi7z/", "/vsirar/"};
    static const char *const others[] = {"/vsigzip/", "/vsisparse/", "/vsicrypt/"};
    const char *file = NULL;
    for (size_t i = 0; i < sizeof archives / sizeof archives[0] && file == NULL; i++)
        if (begins(path, archives[i])) {
            *is_archive = true;
            file = path + strlen(archives[i]);
            file += *file == '{';
        }
    for (size_t i = 0; i < sizeof others / sizeof others[0] && file == NULL; i++)
        if (begins(path, others[i]))
            file = path + strlen(others[i]);
    if (file == NULL && begins(path, "/vsisubfile/")) { /* offset_size,path */
        file = strchr(path, ',');
        return file != NULL ? file + 1 : NULL;
    }
    if (file == NULL && begins(path, "/vsicached?") && *decoded == NULL) /* options, and file=path, URL-encoded */
        file = path = *decoded = CPLUnescapeString(path, NULL, CPLES_URL);
    if (file == NULL)
        return NULL;
    const char *named = begins(path, "/vsicached?") || begins(path, "/vsicrypt/") ? strstr(path, "file=") : NULL;
    if (named != NULL)
        return named + strlen("file=");
    return begins(file, "vsi") ? file - 1 : file; /* GDAL takes /vsizip/vsicurl/ for /vsizip//vsicurl/ */
}

/* GDAL's file systems behind a network. /vsiaz/ carries no condition: it sends objects larger than its buffer in
 * several requests, each of which changes the object. */
static const struct network {
    const char *prefix;
    bool speaks_http, is_listable, sends_conditions, has_generations;
} networks[] = {{.prefix = "/vsicurl", .speaks_http = true},
                {"/vsis3", true, true, true, false},
                {"/vsigs", true, true, true, true},
                {"/vsiaz", true, true, false, false},
                {"/vsiadls", true, true, false, false},
                {"/vsioss", true, true, false, false},
                {"/vsiswift", true, true, false, false},
                {"/vsiwebhdfs", true, true, false, false},
                {.prefix = "/vsihdfs", .is_listable = true}};

/* The network of a path; NULL: none. */
static const struct network *network_of(const char *path)
{
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        const char *rest = path + strlen(networks[i].prefix);
        if (begins(path, networks[i].prefix) && (*rest == '/' || *rest == '?' || begins(rest, "_streaming/")))
            return &networks[i];
    }
    return NULL;
}

/* Whether GDAL has a virtual file system for this path. */
static bool is_virtual(const char *path)
{
    char **prefixes = VSIGetFileSystemsPrefixes();
    bool found = false;
    for (char **prefix = prefixes; prefix != NULL && *prefix != NULL && !found; prefix++) {
        const size_t n = strlen(*prefix);
        found = n > 0 && (begins(path, *prefix) || (strlen(path) + 1 == n && strncmp(path, *prefix, n - 1) == 0));
    }
    CSLDestroy(prefixes);
    return found;
}

struct zs_path_kind zs_path_kind_of(const char *path)
{
    struct zs_path_kind kind = {.is_memory = begins(path, "/vsimem/")};
    char *decoded = NULL;
    const char *innermost = path;
    for (const char *next; (next = path_within(innermost, &kind.is_archive, &decoded)) != NULL;)
        innermost = next;
    const struct network *network = network_of(innermost), *direct = network_of(path);
    kind.is_remote = network != NULL;
    kind.speaks_http = kind.is_remote && network->speaks_http;
    kind.is_listable = kind.is_memory || kind.is_archive;
    if (direct != NULL && strchr(path + 1, '/') == path + strlen(direct->prefix)) { /* not _streaming, not options */
        kind.is_listable = direct->is_listable;
        kind.sends_conditions = direct->sends_conditions;
        kind.has_generations = direct->has_generations;
    }
    /* A network path fails even if this GDAL was built without it; it is not looked for on a disk. */
    kind.is_local = innermost == path && !kind.is_remote && (!begins(path, "/vsi") || !is_virtual(path));
    CPLFree(decoded);
    return kind;
}

bool zs_path_is_remote(const char *path)
{
    return zs_path_kind_of(path).is_remote;
}

/* ---- Names ---- */

static bool is_unreserved(unsigned char c)
{
    return isalnum(c) || strchr("-._~/!$&'()*,;=:@+", c) != NULL;
}

/* The URL of an object below the URL of a root. */
static char *url_below(const char *root, const char *key)
{
    size_t before = strcspn(root, "?");
    const char *query = root + before;
    while (before > 0 && root[before - 1] == '/')
        before--;
    char *url = malloc(strlen(root) + 3 * strlen(key) + 2);
    if (url == NULL)
        return NULL;
    char *p = url + before;
    memcpy(url, root, before);
    *p++ = '/';
    for (; *key != '\0'; key++)
        p += snprintf(p, 4, is_unreserved((unsigned char)*key) ? "%c" : "%%%02X", (unsigned char)*key);
    memcpy(p, query, strlen(query) + 1);
    return url;
}

/* Where the value of url= begins in "/vsicurl?a=b&url=...&c=d"; NULL elsewhere. */
static const char *url_option(const char *path)
{
    if (!begins(path, "/vsicurl?"))
        return NULL;
    for (const char *p = strchr(path, '?'); p != NULL; p = strchr(p + 1, '&'))
        if (begins(p + 1, "url="))
            return p + strlen("?url=");
    return NULL;
}

/* The path with another value of url=; `tail` follows the value. */
static char *with_url(const char *path, const char *value, const char *url)
{
    char *escaped = CPLEscapeString(url, -1, CPLES_URL);
    char *whole = escaped != NULL ? zs_format("%.*s%s%s", (int)(value - path), path, escaped,
                                              value + strcspn(value, "&"))
                                  : NULL;
    CPLFree(escaped);
    return whole;
}

/* The value of url=, decoded; freed with CPLFree(). */
static char *decode_url(const char *value)
{
    char *copy = zs_strndup(value, strcspn(value, "&"));
    char *url = copy != NULL ? CPLUnescapeString(copy, NULL, CPLES_URL) : NULL;
    free(copy);
    return url;
}

char *zs_vsi_path(const struct zs_store *store, const char *key)
{
    static const char *const plain[] = {"/vsicurl/", "/vsicurl_streaming/"};
    const char *root = store->path, *value = url_option(root);
    if (key[0] == '\0')
        return zs_strdup(root);
    if (value != NULL) {
        char *url = decode_url(value), *below = url != NULL ? url_below(url, key) : NULL;
        char *path = below != NULL ? with_url(root, value, below) : NULL;
        CPLFree(url);
        free(below);
        return path;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (begins(root, plain[i]))
            return url_below(root, key);
    const size_t n = strlen(root);
    return zs_format(n > 0 && root[n - 1] == '/' ? "%s%s" : "%s/%s", root, key);
}

char *zs_vsi_object_url(const char *path)
{
    static const char *const systems[][2] = {{"/vsis3/", "AWS_NO_SIGN_REQUEST"},
                                             {"/vsigs/", "GS_NO_SIGN_REQUEST"},
                                             {"/vsiaz/", "AZURE_NO_SIGN_REQUEST"},
                                             {"/vsioss/", "OSS_NO_SIGN_REQUEST"}};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (!begins(path, systems[i][0]))
            continue;
        const char *no_sign = zs_vsi_option(path, systems[i][1]);
        if (no_sign != NULL && CPLTestBool(no_sign))
            break;
        char *url = VSIGetSignedURL(path, NULL);
        char *copy = url != NULL ? zs_strdup(url) : NULL;
        CPLFree(url);
        return copy;
    }
    const char *url = VSIGetActualURL(path);
    return url != NULL && begins(url, "http") ? zs_strdup(url) : NULL;
}

/* ---- In messages ---- */

/* Copies one word (a URL or a path, perhaps with a URL in it) up to any character of `ends`, without its secrets.
 * Returns its end. */
static const char *copy_word(const char *text, const char *ends, char **to)
{
    const char *first = text;
    for (bool is_url = false; *text != '\0' && strchr(ends, *text) == NULL;) {
        if (begins(text, "://")) {
            is_url = true;
            const char *at = NULL, *end = text + 3 + strcspn(text + 3, "/?}");
            for (const char *c = text + 3; c < end && strchr(ends, *c) == NULL; c++)
                at = *c == '@' ? c : at;
            memcpy(*to, text, 3);
            *to += 3;
            text = at != NULL ? at + 1 : text + 3;
        } else if (*text == '?' && (is_url || memchr(first + 1, '/', (size_t)(text - first)) == NULL)) {
            while (*text != '\0' && *text != '}' && strchr(ends, *text) == NULL)
                text++;
        } else if (begins(first, "/vsicrypt/") && (begins(text, "key=") || begins(text, "key_b64="))) {
            text += strcspn(text, ",");
        } else {
            *(*to)++ = *text++;
        }
    }
    return text;
}

char *zs_text_shown(const char *text)
{
    static const char ends[] = " \t\r\n\"'<>`|";
    char *shown = malloc(strlen(text) + 1), *to = shown;
    if (shown == NULL)
        return NULL;
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, ends);
        const char *scheme = strstr(p, "://");
        if (begins(p, "/vsi") || (scheme != NULL && (size_t)(scheme - p) < n)) {
            p = copy_word(p, ends, &to);
            n = 0;
        }
        memcpy(to, p, n);
        to += n;
        p += n;
        if (*p != '\0')
            *to++ = *p++;
    }
    *to = '\0';
    return shown;
}

char *zs_path_shown(const char *path)
{
    const char *value = url_option(path);
    char *url = value != NULL ? decode_url(value) : NULL;
    const char *whole = url != NULL ? url : path;
    if ((value != NULL && url == NULL) || !begins(path, "/vsi"))
        return value != NULL ? NULL : zs_strdup(path);
    char *shown = malloc(strlen("/vsicurl/") + strlen(whole) + 1), *to = shown;
    if (shown != NULL && url != NULL)
        to += snprintf(to, sizeof "/vsicurl/", "/vsicurl/");
    if (shown != NULL) {
        (void)copy_word(whole, "", &to);
        *to = '\0';
    }
    CPLFree(url);
    return shown;
}

/* ---- Directories ---- */

bool zs_vsi_exists(const char *path)
{
    VSIStatBufL st;
    return VSIStatExL(path, &st, VSI_STAT_EXISTS_FLAG) == 0;
}

/* ---- GDAL's errors and settings around calls ---- */

/* VSI functions print their errors and leave the last one set. Here both would be wrong: a missing object is often
 * normal, and the caller gets a status. /vsicurl would also list the parent directory of each file that it opens. */
void zs_vsi_quiet_begin(struct zs_vsi_quiet *quiet, const struct zs_store *store)
{
    quiet->type = (int)CPLGetLastErrorType();
    quiet->number = CPLGetLastErrorNo();
    quiet->message = quiet->type != (int)CE_None ? zs_strdup(CPLGetLastErrorMsg()) : NULL;
    quiet->count = 0;
    if (store != NULL && store->is_remote && CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL) == NULL)
        zs_vsi_quiet_set(quiet, "GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR");
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    VSIErrorReset();
    errno = 0;
}

void zs_vsi_quiet_set(struct zs_vsi_quiet *quiet, const char *name, const char *value)
{
    const char *own = CPLGetThreadLocalConfigOption(name, NULL);
    quiet->set[quiet->count].before = own != NULL ? zs_strdup(own) : NULL;
    quiet->set[quiet->count++].name = name;
    CPLSetThreadLocalConfigOption(name, value);
}

void zs_vsi_quiet_end(struct zs_vsi_quiet *quiet)
{
    CPLPopErrorHandler();
    VSIErrorReset();
    while (quiet->count > 0) {
        char *before = quiet->set[--quiet->count].before;
        CPLSetThreadLocalConfigOption(quiet->set[quiet->count].name, before);
        free(before);
    }
    CPLErrorSetState((CPLErr)quiet->type, quiet->number, quiet->message != NULL ? quiet->message : "");
    free(quiet->message);
}

const char *zs_vsi_reason(void)
{
    const char *reason = errno != 0 ? strerror(errno) : "no reason given";
    if (VSIGetLastErrorNo() != 0 && VSIGetLastErrorMsg()[0] != '\0')
        reason = VSIGetLastErrorMsg();
    else if (CPLGetLastErrorMsg()[0] != '\0')
        reason = CPLGetLastErrorMsg();
    char *shown = zs_text_shown(reason);
    const char *copy = CPLSPrintf("%s", shown != NULL ? shown : "");
    free(shown);
    return copy;
}

const char *zs_vsi_option(const char *path, const char *name)
{
    return VSIGetPathSpecificOption(path, name, NULL);
}

/* ---- In other threads ---- */

static void *context_capture(void)
{
    char **options = CPLGetThreadLocalConfigOptions();
    if (options == NULL || options[0] == NULL) {
        CSLDestroy(options);
        return NULL;
    }
    return options;
}

static void context_enter(void *options)
{
    CPLSetThreadLocalConfigOptions((const char *const *)options);
}

static void context_release(void *options)
{
    CSLDestroy(options);
}

__attribute__((constructor)) static void hand_down_settings(void)
{
    static const struct zs_thread_context hooks = {context_capture, context_enter, context_release};
    zs_parallel_set_thread_context(&hooks);
}
