#include "store/names.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/vsi_settings.h"

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- Paths ---- */

static bool is_unreserved(unsigned char c)
{
    return isalnum(c) || strchr("-._~/!$&'()*,;=:@+", c) != NULL;
}

/* The URL of what is at `key` below that of a root. */
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

/* The same with another value; `tail` is what follows it. */
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

/* Copies one word up to any of `ends`, a URL or a path with one in it, and leaves out what is secret. Returns where it
 * ends. */
static const char *copy_word(const char *p, const char *ends, char **to)
{
    const char *first = p;
    for (bool is_url = false; *p != '\0' && strchr(ends, *p) == NULL;) {
        if (begins(p, "://")) {
            is_url = true;
            const char *at = NULL, *end = p + 3 + strcspn(p + 3, "/?}");
            for (const char *c = p + 3; c < end && strchr(ends, *c) == NULL; c++)
                at = *c == '@' ? c : at;
            memcpy(*to, p, 3);
            *to += 3;
            p = at != NULL ? at + 1 : p + 3;
        } else if (*p == '?' && (is_url || memchr(first + 1, '/', (size_t)(p - first)) == NULL)) {
            while (*p != '\0' && *p != '}' && strchr(ends, *p) == NULL)
                p++;
        } else if (begins(first, "/vsicrypt/") && (begins(p, "key=") || begins(p, "key_b64="))) {
            p += strcspn(p, ",");
        } else {
            *(*to)++ = *p++;
        }
    }
    return p;
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
