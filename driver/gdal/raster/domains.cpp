#include "domains.h"

static bool isOneOf(const char *domain, const std::vector<const char *> &list)
{
    for (const char *name : list)
    {
        if (EQUAL(domain, name))
            return true;
    }
    return false;
}

/* Two-dimensional coordinates are read from another data set, and its name is all that a copy would have. */
static const char GEOLOCATION[] = "GEOLOCATION";

bool zsIsStoredDomain(const char *domain)
{
    return domain != nullptr && domain[0] != '\0' && !EQUAL(domain, GEOLOCATION) &&
           !isOneOf(domain, {"IMAGE_STRUCTURE", "SUBDATASETS", "DERIVED_SUBDATASETS", "ICECHUNK", "xml:VRT",
                             "vrt_sources", "new_vrt_sources", "LocationInfo"});
}

bool zsIsLostDomain(const char *domain)
{
    return EQUAL(domain, GEOLOCATION);
}

struct zs_domains zsDomainsOf(GDALMajorObject &object)
{
    struct zs_domains found = {};
    const CPLStringList names(object.GetMetadataDomainList());
    for (int i = 0; i < names.size(); i++)
    {
        if (zsIsStoredDomain(names[i]) && !zs_domains_add(&found, names[i], object.GetMetadata(names[i])))
            CPLError(CE_Failure, CPLE_OutOfMemory, "no memory for metadata domain %s", names[i]);
    }
    return found;
}

void zsAddDomains(GDALMajorObject &object, const struct zs_domains &domains)
{
    for (size_t i = 0; i < domains.count; i++)
    {
        const struct zs_domain &d = domains.list[i];
        if (zsIsStoredDomain(d.name) && object.GDALMajorObject::GetMetadata(d.name) == nullptr)
            object.GDALMajorObject::SetMetadata(d.items, d.name);
    }
}

ZSDomainsAside::ZSDomainsAside(GDALMajorObject &object, const struct zs_domains &domains) : m_object(object)
{
    for (size_t i = 0; i < domains.count; i++)
    {
        const char *name = domains.list[i].name;
        if (zs_domains_add(&m_aside, name, object.GDALMajorObject::GetMetadata(name)))
            object.GDALMajorObject::SetMetadata(nullptr, name);
    }
}

ZSDomainsAside::~ZSDomainsAside()
{
    for (size_t i = 0; i < m_aside.count; i++)
        m_object.GDALMajorObject::SetMetadata(m_aside.list[i].items, m_aside.list[i].name);
    zs_domains_clear(&m_aside);
}
