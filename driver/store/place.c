#include "store/place.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

static bool begins(const char *path, const char *prefix)
{
    return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The path of the file in which a prefix looks, in `*decoded` (freed with CPLFree()) or in `path` itself; NULL when it
 * looks in none. */
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

static bool is_network(const char *path, bool *speaks_http)
{
    static const char *const systems[] = {"/vsicurl",  "/vsis3",    "/vsigs",    "/vsiaz",      "/vsiadls",
                                          "/vsioss",   "/vsiswift", "/vsihdfs",  "/vsiwebhdfs"};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (!begins(path, systems[i]))
            continue;
        const char *rest = path + strlen(systems[i]);
        if (*rest != '/' && *rest != '?' && !begins(rest, "_streaming/"))
            continue;
        *speaks_http = strcmp(systems[i], "/vsihdfs") != 0;
        return true;
    }
    return false;
}

/* Whether it is a network's file system with listings, how long one page of those may be told to be, and whether the
 * server, not GDAL, picks the names that begin with something. */
static bool lists(const char *path, struct zs_scatter *place)
{
    static const struct {
        const char *prefix, *page_option;
        bool picks;
    } systems[] = {{"/vsis3/", "AWS_MAX_KEYS", true},         {"/vsigs/", "AWS_MAX_KEYS", true},
                   {"/vsioss/", "AWS_MAX_KEYS", true},        {"/vsiaz/", "AZURE_MAX_RESULTS", true},
                   {"/vsiadls/", "AZURE_MAX_RESULTS", false}, {"/vsiswift/", NULL, false},
                   {"/vsihdfs/", NULL, false},                {"/vsiwebhdfs/", NULL, false}};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        if (begins(path, systems[i].prefix)) {
            place->page_option = systems[i].page_option;
            place->picks_names = systems[i].picks;
            return true;
        }
    return false;
}

/* Whether GDAL has a handler for it, and does not take it for a path of the operating system. */
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

struct zs_scatter zs_place_of(const char *path)
{
    struct zs_scatter place = {.is_memory = begins(path, "/vsimem/")};
    char *decoded = NULL;
    const char *innermost = path;
    for (const char *next; (next = path_within(innermost, &place.is_archive, &decoded)) != NULL;)
        innermost = next;
    place.is_remote = is_network(innermost, &place.speaks_http);
    place.is_listable = place.is_memory || place.is_archive || lists(path, &place);
    /* Those that this GDAL was built without fail all the same, and are not looked for on a disk. */
    place.is_local = innermost == path && !place.is_remote && (!begins(path, "/vsi") || !is_virtual(path));
    CPLFree(decoded);
    return place;
}

bool zs_path_is_remote(const char *path)
{
    return zs_place_of(path).is_remote;
}
