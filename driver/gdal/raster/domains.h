/* gdal/raster/domains.h: metadata domains between GDAL and a store (geo/domains.h). */
#ifndef ZS_GDAL_DOMAINS_H
#define ZS_GDAL_DOMAINS_H

#include <vector>

#include "gdal/compat.h"

extern "C"
{
#include "geo/domains.h"
}

/* Whether the domain is one that a store keeps: not what is told in other ways, describes a file and not its pixels, or
 * names other data sets. */
bool zsIsStoredDomain(const char *domain);
/* Of those that it does not keep, whether a copy loses something. */
bool zsIsLostDomain(const char *domain);

/* What a data set or band has of them; released with zs_domains_clear(). */
struct zs_domains zsDomainsOf(GDALMajorObject &object);
/* Gives it those of which it has none yet. */
void zsAddDomains(GDALMajorObject &object, const struct zs_domains &domains);

/* While it lives, the object does not have these domains: a side-car file does not repeat what the store tells. */
class ZSDomainsAside
{
    GDALMajorObject &m_object;
    struct zs_domains m_aside = {};

  public:
    ZSDomainsAside(GDALMajorObject &object, const struct zs_domains &domains);
    ~ZSDomainsAside();
    ZSDomainsAside(const ZSDomainsAside &) = delete;
    ZSDomainsAside &operator=(const ZSDomainsAside &) = delete;
};

#endif
