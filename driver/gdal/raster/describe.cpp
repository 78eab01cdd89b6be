#include "describe.h"

#include "gdal/guard.h"

static std::string shapeText(const struct zs_node *node, const struct zs_slices *slices)
{
    std::string s;
    for (int d = 0, i = 0; d < node->array->ndim; d++)
    {
        const bool isPlane = slices != nullptr && (d == slices->axes.x || d == slices->axes.y);
        const bool differs = slices != nullptr && i < slices->dim_count && d == slices->dims[i];
        if (slices == nullptr || isPlane || differs)
            s += (s.empty() ? "" : "x") + std::to_string(differs ? slices->sizes[i] : node->array->shape[d]);
        i += differs;
    }
    return "[" + s + "]";
}

/* The label of one element of a dimension that is a time, a whole day without the hour; "" for what is none, or cannot
 * be read. */
static std::string timeAt(const ZSStore &store, const struct zs_node *node, int dim, uint64_t at)
{
    static const char MIDNIGHT[] = "T00:00:00";
    struct zs_labels labels = {};
    struct zs_error ignored;
    if (zs_labels_read(store.hierarchy, node, dim, at, 1, &labels, &ignored) != ZS_OK)
        return "";
    const ZSOwned<struct zs_labels> cleared(&labels, zs_labels_clear);
    std::string text = labels.values != nullptr ? labels.values[0] : "";
    int year, month, day;
    if (sscanf(text.c_str(), "%d-%2d-%2d", &year, &month, &day) != 3)
        return "";
    if (zsEndsWith(text, MIDNIGHT))
        text.resize(text.size() - strlen(MIDNIGHT));
    return text;
}

/* ", time 2026-05-01..2026-05-30" of each dimension that is a time. */
static std::string timesText(const ZSStore &store, const struct zs_node *node)
{
    std::string s;
    struct zs_axes axes;
    struct zs_error ignored;
    if (zs_axes_find(store.hierarchy, node, nullptr, nullptr, &axes, &ignored) != ZS_OK)
        return s;
    for (int d = 0; d < node->array->ndim; d++)
    {
        const uint64_t n = node->array->shape[d];
        const char *name = zs_dimension_name(node, d);
        const std::string first =
            d != axes.x && d != axes.y && n > 0 && name != nullptr ? timeAt(store, node, d, 0) : "";
        const std::string last = !first.empty() && n > 1 ? timeAt(store, node, d, n - 1) : "";
        if (!first.empty())
            s += std::string(", ") + name + " " + first + (last.empty() ? "" : ".." + last);
    }
    return s;
}

std::string zsDescribe(const ZSStore &store, const struct zs_node *node, bool times, const struct zs_slices *slices)
{
    const GDALDataType type = zsGDALType(node->array->dtype.type, node->array->dtype.size);
    const std::string typeName = type == GDT_Unknown ? node->array->dtype.name : GDALGetDataTypeName(type);
    std::string s = shapeText(node, slices);
    struct zs_meaning meaning;
    struct zs_error err;
    if (zs_meaning_read(node, &meaning, &err) == ZS_OK)
    {
        const ZSOwned<struct zs_meaning> cleared(&meaning, zs_meaning_clear);
        s += meaning.description != nullptr ? std::string(" ") + meaning.description : "";
        s += meaning.unit != nullptr ? std::string(" (") + meaning.unit + ")" : "";
    }
    return s + " (" + typeName + ")" + (times && !store.store->is_remote ? timesText(store, node) : "");
}
