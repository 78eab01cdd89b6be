#include "dataset_parts.h"

CPLErr ZSClosing::TakePlace(bool hasLost, std::string &entry)
{
    if (m_target == nullptr)
        return CE_None;
    const std::string root = m_target->Root();
    if (m_target->Replaces() && hasLost)
    {
        CPLError(CE_Failure, CPLE_FileIO, "%s: is not replaced: pixels of the new raster could not be written",
                 zsShown(root).c_str());
        return CE_Failure;
    }
    if (!zsTakePlace(m_target, m_view.store->store))
        return CE_Failure;
    if (!m_view.store->store->is_remote)
        entry = root + "/zarr.json";
    return CE_None;
}
