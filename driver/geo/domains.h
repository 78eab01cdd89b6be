/* geo/domains.h: metadata domains: lists of texts under a name ("ENVI", "RPC", "xml:XMP"), beside the metadata that
 * have none.
 *
 * They are in the attribute `gdal:metadata_domains` of an array, and of a band in the member `metadata_domains` of its
 * entry in gdal:bands: an object of one member per domain, {"ENVI": {"bands": "3"}, "xml:XMP": ["<xmp/>"]}. A domain of
 * "NAME=VALUE" alone is an object of strings, any other, and those that hold one document (xml:, json:), a list of its
 * texts. GDAL's own Zarr driver keeps no
 * domains. */
#pragma once

#include "zarr/json.h"

#define ZS_DOMAINS_ATTRIBUTE "gdal:metadata_domains"

struct zs_domain {
    char *name;
    char **items; /* NULL-terminated: "NAME=VALUE", or whatever */
};

/* Zero-initialise; release with zs_domains_clear(). */
struct zs_domains {
    struct zs_domain *list;
    size_t count, capacity;
};

/* Those that return bool give false without memory only; what was added until then is there. */

/* Adds copies. A domain without a name, or of no items, is none. */
bool zs_domains_add(struct zs_domains *domains, const char *name, const char *const *items);
bool zs_domains_copy(const struct zs_domains *domains, struct zs_domains *copy);
void zs_domains_clear(struct zs_domains *domains);

/* Members that are odd are passed over. `object` may be NULL. */
bool zs_domains_read(const zs_json *object, struct zs_domains *domains);
/* Sets the member `name` of `parent`, or removes it where there are no domains. What zs_domains_read() passes over in
 * the member that is there stays, and so does a domain that has these items already. */
bool zs_domains_write(zs_json *parent, const char *name, const struct zs_domains *domains);
