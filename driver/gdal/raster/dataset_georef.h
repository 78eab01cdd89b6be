/* gdal/raster/dataset_georef.h: where the pixels of a dataset lie, as its store says: transform, CRS, ground control
 * points, geolocation arrays. */
#ifndef ZS_GDAL_DATASET_GEOREF_H
#define ZS_GDAL_DATASET_GEOREF_H

#include <memory>
#include <string>
#include <vector>

#include "view.h"

extern "C"
{
#include "geo/georef.h"
}

class ZSGeoreferencing : public ZSDatasetPart
{
    std::vector<GDAL_GCP> m_gcps;
    std::vector<std::string> m_gcpNames;
    char m_noText[1] = {};
    OGRSpatialReference m_gcpSrs;
    bool m_gcpsRead = false, m_geolocationAdded = false;
    std::vector<const struct zs_node *> m_nodes; /* what it is written to */
    std::vector<struct zs_axes> m_axes;

    CPLStringList Geolocation();

  protected:
    static constexpr unsigned TRANSFORM = 1, CRS = 2, REGISTRATION = 4;
    ZSView &m_view;
    struct zs_georef m_georef = {};
    bool m_isRead = false; /* read when first asked for, since that may cost requests */
    unsigned m_changed = 0; /* TRANSFORM | CRS | REGISTRATION */

    /* Reads m_georef. */
    virtual void Read();

  public:
    explicit ZSGeoreferencing(ZSView &view) : m_view(view)
    {
    }
    ~ZSGeoreferencing() override
    {
        zs_georef_clear(&m_georef);
    }
    /* The georeferencing of that kind of pixels. */
    static std::unique_ptr<ZSGeoreferencing> Of(ZSView &view);

    const struct zs_georef &Get();
    /* Whether X or Y has coordinates that no transform tells. */
    virtual bool HasIrregularAxes();
    /* Null removes the CRS. `isBlank`: no pixel was written yet. CE_Failure with CPLError emitted. */
    virtual CPLErr SetSrs(const OGRSpatialReference *srs, bool isBlank);
    virtual CPLErr SetTransform(const double *transform);
    void SetPixelIsPoint(bool isPoint);
    /* Writes the same georeferencing to the arrays of `other`, too, at the next flush. */
    void AlsoFor(const ZSView &other);

    /* None when a transform was set. */
    virtual const std::vector<GDAL_GCP> &GCPs();
    const OGRSpatialReference &GCPSrs() const
    {
        return m_gcpSrs;
    }
    /* Gives the dataset, once, the metadata domain GEOLOCATION, as GDAL's warper reads it, where there are
     * two-dimensional coordinates. */
    void AddGeolocation(GDALDataset &dataset);

    bool IsPending() const override
    {
        return m_changed != 0;
    }
    enum zs_status Flush(struct zs_error *err) override;
    void SetPublished() override
    {
        m_changed = 0;
    }
};

#endif
