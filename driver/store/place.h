/* store/place.h: what kind of place a path is. GDAL's prefixes tell; a prefix that looks into another file leaves the
 * question to that file's path. */
#ifndef ZS_STORE_PLACE_H
#define ZS_STORE_PLACE_H

#include <stdbool.h>

struct zs_scatter {
    bool is_local;    /* a path of the operating system, not of a virtual file system */
    bool is_memory;   /* /vsimem/ */
    bool is_archive;  /* in an archive, wherever that lies */
    bool is_remote;   /* behind a network */
    bool speaks_http; /* ... and failures come with the status of an answer */
    bool is_listable; /* directories can be listed, whatever comes of it at a moment; a web server may, or may not */
    bool picks_names; /* a server lists only those names that begin with something, when it is asked to */
    const char *page_option; /* GDAL's setting for the length of one page of a listing; NULL where there are none */
};
struct zs_scatter zs_place_of(const char *path);

#endif
