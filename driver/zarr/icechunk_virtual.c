/* Virtual chunks of an Icechunk repository: ranges of objects elsewhere, by their URLs. A document names the object,
 * but not GDAL's way to it: each scheme has one file system, and local files are read where the user allows it. */
#include <cpl_conv.h>
#include <cpl_string.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/vsi.h"
#include "zarr/flatbuffer.h"
#include "zarr/icechunk_private.h"
#include "zarr/name.h"

/* Buckets and servers that the chunks of one repository lie in. */
#define MOST_STORES 256
#define ALLOW_LOCAL "ICECHUNK_ALLOW_LOCAL_CHUNK_LOCATION"

static const struct scheme {
    const char *begin, *root; /* of the URL; of the store, in front of the first name */
    bool is_url;              /* ... which is a URL's server; else a bucket, whose objects have no query */
} schemes[] = {{"s3://", "/vsis3/", false},
               {"gs://", "/vsigs/", false},
               {"gcs://", "/vsigs/", false},
               {"az://", "/vsiaz/", false},
               {"azure://", "/vsiaz/", false},
               {"http://", "/vsicurl/http://", true},
               {"https://", "/vsicurl/https://", true}};

/* A URL as the root of a store and a key in it, both freed with free(). */
struct split {
    char *root, *key;
};

/* The location is shown without the password and the signature that it may have. */
static enum zs_status fail_location(const char *expected, const char *location, struct zs_error *err)
{
    char *shown = zs_text_shown(location);
    const enum zs_status status = zs_fail(err, ZS_INVALID, "virtual chunk: expected %s, found %.200s", expected,
                                          shown != NULL ? shown : "another");
    free(shown);
    return status;
}

/* ---- vcc:// ---- */

/* Finds the URL prefix that a container of a name has in the repository's configuration. */
static bool find_prefix(const struct zs_buffer *config, const char *name, size_t n, const char **prefix, size_t *length)
{
    struct zs_flex root, containers, container, value;
    const char *key, *found;
    size_t count, found_length;
    if (!zs_flex_root(config->data, config->size, &root) ||
        !zs_flex_get(&root, "virtual_chunk_containers", &containers) || !zs_flex_map(&containers, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (zs_flex_member(&containers, i, &key, &container) && zs_flex_get(&container, "name", &value) &&
            zs_flex_text(&value, &found, &found_length) && found_length == n && memcmp(found, name, n) == 0)
            return zs_flex_get(&container, "url_prefix", &value) && zs_flex_text(&value, prefix, length);
    return false;
}

/* The absolute URL of vcc://NAME/path; freed with free(). */
static enum zs_status expand(const struct zs_buffer *config, const char *location, char **url, struct zs_error *err)
{
    const char *name = location + strlen("vcc://"), *prefix;
    const size_t n = strcspn(name, "/");
    size_t length;
    if (n == 0 || name[n] != '/' || !find_prefix(config, name, n, &prefix, &length))
        return fail_location("the name of a container of the repository's configuration", location, err);
    *url = zs_format("%.*s%s", (int)length, prefix, name + n + 1);
    return *url != NULL ? ZS_OK : zs_fail_memory(err);
}

/* ---- Buckets that anyone may read ---- */

/* Gets a text from a map where all its characters are letters, digits or in `others`. */
static bool get_plain(const struct zs_flex *map, const char *name, const char *others, const char **text, size_t *n)
{
    struct zs_flex value;
    if (!zs_flex_get(map, name, &value) || !zs_flex_text(&value, text, n) || *n == 0)
        return false;
    for (size_t i = 0; i < *n; i++)
        if (!isalnum((unsigned char)(*text)[i]) && strchr(others, (*text)[i]) == NULL)
            return false;
    return true;
}

/* Finds the settings of S3 of the container that a location lies in: the one with the longest prefix. */
static bool find_settings(const struct zs_buffer *config, const char *location, struct zs_flex *settings)
{
    struct zs_flex root, containers, container, value;
    const char *key, *prefix;
    size_t count, n, longest = 0;
    if (!zs_flex_root(config->data, config->size, &root) ||
        !zs_flex_get(&root, "virtual_chunk_containers", &containers) || !zs_flex_map(&containers, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (zs_flex_member(&containers, i, &key, &container) && zs_flex_get(&container, "url_prefix", &value) &&
            zs_flex_text(&value, &prefix, &n) && n > longest && strncmp(location, prefix, n) == 0 &&
            zs_flex_get(&container, "store", &value) &&
            (zs_flex_get(&value, "s3", settings) || zs_flex_get(&value, "s3_compatible", settings)))
            longest = n;
    return longest > 0;
}

/* Makes the root of a bucket of S3 that is read without signatures, as any web server is. NULL for others: GDAL signs
 * their requests by its own settings. Freed with free(). */
static char *open_bucket(const struct zs_buffer *config, const char *location, const char *bucket, size_t n)
{
    struct zs_flex settings, value;
    const char *region = "us-east-1", *endpoint;
    size_t length = strlen(region), end;
    if (strncmp(location, "s3://", strlen("s3://")) != 0 || zs_vsi_option("/vsis3/", "AWS_S3_ENDPOINT") != NULL ||
        !find_settings(config, location, &settings) || !zs_flex_get(&settings, "anonymous", &value) ||
        !zs_flex_is_true(&value))
        return NULL;
    if (get_plain(&settings, "endpoint_url", "-._:/", &endpoint, &end)) {
        while (end > 0 && endpoint[end - 1] == '/')
            end--;
        const bool is_url = strncmp(endpoint, "http://", 7) == 0 || strncmp(endpoint, "https://", 8) == 0;
        return is_url ? zs_format("/vsicurl/%.*s/%.*s", (int)end, endpoint, (int)n, bucket) : NULL;
    }
    (void)get_plain(&settings, "region", "-", &region, &length);
    return zs_format("/vsicurl/https://s3.%.*s.amazonaws.com/%.*s", (int)length, region, (int)n, bucket);
}

/* ---- URLs ---- */

/* Whether n characters are the name of a bucket, or of a server and its port; nothing else, as a password, a query or
 * a path, passes for one. */
static bool is_bucket_or_server(const char *name, size_t n, bool is_url)
{
    bool only_dots = true;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)name[i];
        if (!isalnum(c) && strchr(is_url ? "-.:[]" : "-._", c) == NULL)
            return false;
        only_dots = only_dots && c == '.';
    }
    return n > 0 && !only_dots;
}

static enum zs_status split_remote(const struct zs_buffer *config, const struct scheme *scheme, const char *location,
                                   struct split *s, struct zs_error *err)
{
    const char *name = location + strlen(scheme->begin), *path = name + strcspn(name, "/?#");
    const size_t n = (size_t)(path - name), length = *path == '/' ? strcspn(path + 1, "?#") : 0;
    if (!is_bucket_or_server(name, n, scheme->is_url) || length == 0)
        return fail_location("a server or bucket, and a path", location, err);
    const char *query = path + 1 + length; /* of a URL, and signed at times: it stays behind the path */
    s->root = open_bucket(config, location, name, n);
    if (s->root == NULL)
        s->root = zs_format("%s%.*s%.*s", scheme->root, (int)n, name, scheme->is_url ? (int)strcspn(query, "#") : 0,
                            query);
    s->key = zs_strndup(path + 1, length);
    if (s->key != NULL)
        zs_unescape(s->key); /* not by GDAL's function, for which a plus sign is a blank */
    return s->root != NULL && s->key != NULL ? ZS_OK : zs_fail_memory(err);
}

/* file:///path, decoded as a URL is. */
static enum zs_status split_local(const char *location, struct split *s, struct zs_error *err)
{
    if (!CPLTestBool(CPLGetConfigOption(ALLOW_LOCAL, "NO")))
        return zs_fail(err, ZS_UNSUPPORTED,
                       "virtual chunk: %.200s is a local file, which is read where the configuration option "
                       ALLOW_LOCAL " is YES", location);
    char *path = zs_strdup(location + strlen("file://"));
    ZS_TRY_MEMORY(path, err);
    zs_unescape(path);
    /* The folder below / is the store's root: there are few, unlike those that the files themselves lie in. */
    const char *slash = path[0] == '/' ? strchr(path + 1, '/') : NULL;
    enum zs_status status = ZS_OK;
    if (slash == NULL || strncmp(path, "/vsi", 4) == 0) {
        status = fail_location("file:// and the absolute path of a local file", location, err);
    } else {
        s->root = zs_strndup(path, (size_t)(slash - path));
        s->key = zs_strdup(slash + 1);
        if (s->root == NULL || s->key == NULL)
            status = zs_fail_memory(err);
    }
    free(path);
    return status;
}

static enum zs_status split(const struct zs_buffer *config, const char *location, struct split *s, struct zs_error *err)
{
    char *url = NULL;
    if (strncmp(location, "vcc://", strlen("vcc://")) == 0) {
        ZS_TRY(expand(config, location, &url, err));
        const enum zs_status status = strncmp(url, "vcc://", strlen("vcc://")) != 0
                                          ? split(config, url, s, err)
                                          : fail_location("a container with a URL", location, err);
        free(url);
        return status;
    }
    if (strncmp(location, "file://", strlen("file://")) == 0)
        return split_local(location, s, err);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (strncmp(location, schemes[i].begin, strlen(schemes[i].begin)) == 0)
            return split_remote(config, &schemes[i], location, s, err);
    return fail_location("a URL that begins with s3://, gs://, az://, http://, https://, vcc:// or file://", location,
                         err);
}

/* ---- Stores ---- */

/* The store of a root, opened once. */
static enum zs_status find_store(struct zs_icechunk_elsewhere *elsewhere, const char *root, struct zs_store **store,
                                 struct zs_error *err)
{
    for (size_t i = 0; i < elsewhere->count; i++)
        if (strcmp(elsewhere->roots[i].path, root) == 0) {
            *store = elsewhere->roots[i].store;
            return ZS_OK;
        }
    if (elsewhere->count == MOST_STORES)
        return zs_fail(err, ZS_UNSUPPORTED, "virtual chunk: expected at most %d buckets and servers, found more",
                       MOST_STORES);
    struct zs_icechunk_root *roots = zs_grow(elsewhere->roots, elsewhere->count, &elsewhere->capacity, sizeof *roots);
    elsewhere->roots = roots != NULL ? roots : elsewhere->roots;
    char *copy = zs_strdup(root);
    const enum zs_status status =
        roots != NULL && copy != NULL ? zs_store_open(root, store, err) : zs_fail_memory(err);
    if (status != ZS_OK) {
        free(copy);
        return status;
    }
    elsewhere->roots[elsewhere->count++] = (struct zs_icechunk_root){copy, *store};
    return ZS_OK;
}

enum zs_status zs_icechunk_elsewhere_find(struct zs_icechunk_elsewhere *elsewhere, const struct zs_buffer *config,
                                          const char *location, struct zs_store **store, char **key,
                                          struct zs_error *err)
{
    struct split s = {0};
    enum zs_status status = split(config, location, &s, err);
    if (status == ZS_OK) {
        (void)pthread_mutex_lock(&elsewhere->lock);
        status = find_store(elsewhere, s.root, store, err);
        (void)pthread_mutex_unlock(&elsewhere->lock);
    }
    free(s.root);
    if (status == ZS_OK)
        *key = s.key;
    else
        free(s.key);
    return status;
}

void zs_icechunk_elsewhere_clear(struct zs_icechunk_elsewhere *elsewhere)
{
    for (size_t i = 0; i < elsewhere->count; i++) {
        zs_store_free(elsewhere->roots[i].store);
        free(elsewhere->roots[i].path);
    }
    free(elsewhere->roots);
}

/* ---- Checks ---- */

/* Whether two ETags are of the same object, however they are quoted. */
static bool is_same_etag(const char *found, const struct zs_flat_vector *wanted)
{
    const char *w = (const char *)wanted->data;
    size_t n = strlen(found), m = wanted->count;
    if (n >= 2 && strncmp(found, "W/", 2) == 0)
        found += 2, n -= 2;
    if (m >= 2 && strncmp(w, "W/", 2) == 0)
        w += 2, m -= 2;
    if (n >= 2 && found[0] == '"' && found[n - 1] == '"')
        found++, n -= 2;
    if (m >= 2 && w[0] == '"' && w[m - 1] == '"')
        w++, m -= 2;
    return n == m && memcmp(found, w, n) == 0;
}

enum zs_status zs_icechunk_object_check(const struct zs_object *object, const struct zs_icechunk_ref *ref,
                                        struct zs_error *err)
{
    if (ref->etag.of != NULL && object->etag != NULL && !is_same_etag(object->etag, &ref->etag))
        return zs_fail(err, ZS_CORRUPT, "expected the ETag %.*s, as in the reference, found %.100s: the object was "
                       "replaced", (int)(ref->etag.count < 100 ? ref->etag.count : 100), (const char *)ref->etag.data,
                       object->etag);
    if (ref->last_modified != 0 && object->modified > ref->last_modified)
        return zs_fail(err, ZS_CORRUPT, "expected an object that was last modified %llu seconds after 1970, as in "
                       "the reference, found %llu: it was replaced", (unsigned long long)ref->last_modified,
                       (unsigned long long)object->modified);
    return ZS_OK;
}
