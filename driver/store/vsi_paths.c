/* Paths of GDAL's virtual file systems, their kinds, the names of objects in them and in messages; GDAL's errors and
 * settings around the calls. */
#define _GNU_SOURCE /* VSIStatBufL is a struct stat64 */
#include <cpl_conv.h>
#include <cpl_error.h>
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

/* GDAL's file systems behind a network. /vsiaz/ carries no condition: it sends objects larger than its buffer in
 * several requests, each of which changes the object. */
static const struct network {
    const char *name;
    bool speaks_http, is_listable, sends_conditions, has_generations;
} networks[] = {{.name = "vsicurl", .speaks_http = true},
                {"vsis3", true, true, true, false},
                {"vsigs", true, true, true, true},
                {"vsiaz", true, true, false, false},
                {"vsiadls", true, true, false, false},
                {"vsioss", true, true, false, false},
                {"vsiswift", true, true, false, false},
                {"vsiwebhdfs", true, true, false, false},
                {.name = "vsihdfs", .is_listable = true}};

/* The network of a path; NULL: none. Of archives and others of GDAL's file systems that look into a file
 * ("/vsizip/vsis3/...", "/vsicached?file=%2Fvsis3%2F...") that of any part of the path: it is better to take one for
 * remote that is not. */
static const struct network *network_of(const char *path)
{
    for (const char *at = begins(path, "/vsimem/") ? NULL : path + 1; at != NULL; at = strstr(at + 1, "vsi"))
        for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
            const char *rest = at + strlen(networks[i].name);
            if (begins(at, networks[i].name) &&
                (*rest == '/' || *rest == '?' || EQUALN(rest, "%2F", 3) || begins(rest, "_streaming/")))
                return &networks[i];
        }
    return NULL;
}

struct zs_path_kind zs_path_kind_of(const char *path)
{
    static const char *const archives[] = {"/vsizip/", "/vsitar/", "/vsi7z/", "/vsirar/"};
    /* A network path fails even if this GDAL was built without it; it is not looked for on a disk. */
    struct zs_path_kind kind = {.is_local = !begins(path, "/vsi"), .is_memory = begins(path, "/vsimem/")};
    const struct network *network = kind.is_local ? NULL : network_of(path);
    for (size_t i = 0; i < sizeof archives / sizeof archives[0]; i++)
        kind.is_archive = kind.is_archive || begins(path, archives[i]);
    kind.is_remote = network != NULL;
    kind.speaks_http = kind.is_remote && network->speaks_http;
    kind.is_listable = kind.is_memory || kind.is_archive;
    if (kind.is_remote && begins(path + 1, network->name) && path[1 + strlen(network->name)] == '/') {
        kind.is_listable = network->is_listable; /* not _streaming, not options */
        kind.sends_conditions = network->sends_conditions;
        kind.has_generations = network->has_generations;
    }
    return kind;
}

bool zs_path_is_remote(const char *path)
{
    return zs_path_kind_of(path).is_remote;
}

/* ---- Names ---- */

/* Where the value of url= begins in "/vsicurl?a=b&url=..."; NULL elsewhere. */
static const char *url_option(const char *path)
{
    for (const char *p = begins(path, "/vsicurl?") ? strchr(path, '?') : NULL; p != NULL; p = strchr(p + 1, '&'))
        if (begins(p + 1, "url="))
            return p + strlen("?url=");
    return NULL;
}

/* The path with a key behind the URL of a root, which ends after `n` bytes. A space of the key is "%20" in a URL, and
 * "%2520" in one that is an option. */
static char *url_below(const char *root, size_t n, const char *key, bool is_option)
{
    const char *plain = is_option ? "-._~/" : "-._~/!$&'()*,;=:@+";
    char *path = malloc(strlen(root) + 5 * strlen(key) + 2), *p = path;
    if (path == NULL)
        return NULL;
    const char *rest = root + n;
    for (size_t slash = 1; n > 0 && slash > 0; n -= slash) /* slashes at its end, plain or encoded */
        slash = root[n - 1] == '/' ? 1 : is_option && n >= 3 && EQUALN(root + n - 3, "%2F", 3) ? 3 : 0;
    memcpy(p, root, n);
    p += n;
    *p++ = '/';
    for (; *key != '\0'; key++) {
        const unsigned char c = (unsigned char)*key;
        const bool is_plain = isalnum(c) || strchr(plain, c) != NULL;
        p += snprintf(p, 6, is_plain ? "%c" : is_option ? "%%25%02X" : "%%%02X", c);
    }
    memcpy(p, rest, strlen(rest) + 1);
    return path;
}

char *zs_vsi_path(const struct zs_store *store, const char *key)
{
    const char *root = store->path, *value = url_option(root);
    const size_t length = strlen(root);
    if (key[0] == '\0')
        return zs_strdup(root);
    if (value != NULL) {
        while (*value != '\0' && *value != '?' && *value != '&' && !EQUALN(value, "%3F", 3))
            value++;
        return url_below(root, (size_t)(value - root), key, true);
    }
    if (begins(root, "/vsicurl/") || begins(root, "/vsicurl_streaming/"))
        return url_below(root, strcspn(root, "?"), key, false);
    return zs_format(length > 0 && root[length - 1] == '/' ? "%s%s" : "%s/%s", root, key);
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
    char *option = value != NULL ? zs_strndup(value, strcspn(value, "&")) : NULL;
    char *url = option != NULL ? CPLUnescapeString(option, NULL, CPLES_URL) : NULL;
    char *whole = value == NULL ? zs_strdup(path) : url != NULL ? zs_format("/vsicurl/%s", url) : NULL;
    char *shown = whole != NULL ? zs_strdup(whole) : NULL, *to = shown;
    if (shown != NULL && begins(path, "/vsi")) {
        (void)copy_word(whole, "", &to);
        *to = '\0';
    }
    free(option);
    CPLFree(url);
    free(whole);
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
    zs_thread_hooks = (struct zs_thread_context){context_capture, context_enter, context_release};
}
