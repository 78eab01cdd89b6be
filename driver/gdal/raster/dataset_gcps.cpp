/* Ground control points of a product (geo/gcps.h) as GDAL's. */
#include "dataset.h"

extern "C"
{
#include "geo/gcps.h"
}

void ShardedZarrDataset::ReadGCPs()
{
    if (m_gcpsRead || m_view.store->hierarchy == nullptr || m_view.IsHealpix() || m_isOverview || m_isMask)
        return;
    m_gcpsRead = true;
    struct zs_error err;
    struct zs_gcp *raw = nullptr;
    size_t count = 0;
    if (zs_gcps_read(m_view.store->hierarchy, m_view.Array(0).node, &raw, &count, &err) != ZS_OK)
        zsReport(err);
    const std::unique_ptr<struct zs_gcp, decltype(&free)> points(raw, free);
    m_gcpNames.resize(count);
    m_gcps.resize(count);
    for (size_t i = 0; i < count; i++)
    {
        const struct zs_gcp &p = points.get()[i];
        m_gcpNames[i] = std::to_string(i + 1);
        m_gcps[i] = {m_gcpNames[i].data(), m_noText, p.pixel, p.line, p.x, p.y, p.z};
    }
    if (count > 0)
    {
        m_gcpSrs.SetWellKnownGeogCS("WGS84");
        m_gcpSrs.SetAxisMappingStrategy(OAMS_TRADITIONAL_GIS_ORDER);
    }
}

bool ShardedZarrDataset::HasGCPs()
{
    ReadGCPs();
    return !m_gcps.empty();
}

int ShardedZarrDataset::GetGCPCount()
{
    const int beside = GDALPamDataset::GetGCPCount();
    return beside > 0 || !HasGCPs() ? beside : static_cast<int>(m_gcps.size());
}

const OGRSpatialReference *ShardedZarrDataset::GetGCPSpatialRef() const
{
    auto *self = const_cast<ShardedZarrDataset *>(this);
    return self->GDALPamDataset::GetGCPCount() > 0 || !self->HasGCPs() ? GDALPamDataset::GetGCPSpatialRef()
                                                                       : &m_gcpSrs;
}

const GDAL_GCP *ShardedZarrDataset::GetGCPs()
{
    return GDALPamDataset::GetGCPCount() > 0 || !HasGCPs() ? GDALPamDataset::GetGCPs() : m_gcps.data();
}
