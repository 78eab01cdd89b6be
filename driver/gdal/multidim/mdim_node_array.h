/* gdal/multidim/mdim_node_array.h: what every array of the multidimensional face is, whatever its elements are. */
#pragma once

#include "gdal/guard.h"
#include "mdim.h"

/* The array of a node, as far as its elements do not matter. Base: GDALMDArray, or GDALPamMDArray where it has
 * statistics. */
template <class Base> class ZSMdimNodeArray : public Base, public ZSMdimFollower
{
  protected:
    std::shared_ptr<ZSMdimStore> m_store;
    const struct zs_node *m_node;
    GDALExtendedDataType m_type;
    std::vector<std::shared_ptr<GDALDimension>> m_dimensions;
    std::string m_filename;
    CPLStringList m_structure;

    /* `more`: what the constructor of Base takes after the names. */
    template <class... More>
    ZSMdimNodeArray(const std::shared_ptr<ZSMdimStore> &store, const struct zs_node *node,
                    const GDALExtendedDataType &type, const More &...more)
        : GDALAbstractMDArray(store->ParentName(node), store->NodeName(node)),
          Base(store->ParentName(node), store->NodeName(node), more...), m_store(store), m_node(node), m_type(type),
          m_filename(store->DocumentName(node))
    {
        const std::unique_ptr<char, decltype(&free)> codecs(zs_codecs_text(node), free);
        if (codecs != nullptr)
            m_structure.SetNameValue("CODECS", codecs.get());
    }

    /* False with the message in err. `made`: those that it was made of, if it was. */
    bool TakeDimensions(const std::vector<std::shared_ptr<GDALDimension>> &made, struct zs_error *err)
    {
        m_dimensions = made;
        return !made.empty() || m_store->Dimensions(m_node, m_dimensions, err);
    }
    /* Switches to a new node: what all kinds of arrays have in common. */
    bool TakeNode(const struct zs_node *node, struct zs_error *err)
    {
        const bool isElsewhere = strcmp(node->path, m_node->path) != 0;
        m_node = node;
        m_filename = m_store->DocumentName(node);
        if (!isElsewhere)
            return true;
        m_dimensions.clear(); // they are where their variables are
        return m_store->Dimensions(node, m_dimensions, err);
    }
    /* False (CPLError emitted) when it was deleted. */
    bool CheckThere() const
    {
#if ZS_GDAL_AT_LEAST(8)
        return this->CheckValidAndErrorOutIfNot();
#else
        return true;
#endif
    }
    /* Calls f(hierarchy, node, err), which changes the node. */
    template <class F> bool Change(F &&f)
    {
        return CheckThere() && m_store->Change(m_node->path, f);
    }
    /* Runs f(err), which writes, if the store is updatable. A failure marks elements as lost, unless the request was
     * refused before anything was written. */
    template <class F> bool Writing(F &&f)
    {
        enum zs_status status = ZS_NO_MEMORY; // when an exception passes
        const bool ok = zsGuard([&] {
            struct zs_error err;
            if (!CheckThere() || !m_store->CheckUpdatable())
            {
                status = ZS_UNSUPPORTED; // which was reported
                return false;
            }
            status = f(&err);
            if (status != ZS_OK)
                zsReport(err);
            return status == ZS_OK;
        });
        if (!ok && status != ZS_ARGUMENT && status != ZS_UNSUPPORTED)
            m_store->MarkLost();
        return ok;
    }
    /* Reads the elements of a request, which lies in the array. False with the message in err, which is empty where
     * GDAL has reported why. */
    virtual bool ReadElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                              struct zs_error *err) const = 0;
    /* ZS_ARGUMENT and ZS_UNSUPPORTED: nothing is written. */
    virtual enum zs_status WriteElements(const ZSMdimRequest &request, const GDALExtendedDataType &type,
                                         struct zs_error *err) = 0;
    ZSMdimRequest Request(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                          const GDALExtendedDataType &type, const void *data) const
    {
        return zsMdimRequest(m_dimensions.size(), start, count, step, stride, type.GetSize(), const_cast<void *>(data));
    }
    bool IRead(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
               const GDALExtendedDataType &type, void *data) const override
    {
        return zsGuard([&] {
            struct zs_error err;
            if (!CheckThere())
                return false;
            if (ReadElements(Request(start, count, step, stride, type, data), type, &err))
                return true;
            if (err.message[0] != '\0')
                zsReport(err);
            return false;
        });
    }
    bool IWrite(const GUInt64 *start, const size_t *count, const GInt64 *step, const GPtrDiff_t *stride,
                const GDALExtendedDataType &type, const void *data) override
    {
        return Writing([&](struct zs_error *err) {
            return WriteElements(Request(start, count, step, stride, type, data), type, err);
        });
    }

  public:
    const std::vector<std::shared_ptr<GDALDimension>> &GetDimensions() const override
    {
        return m_dimensions;
    }
    const GDALExtendedDataType &GetDataType() const override
    {
        return m_type;
    }
    /* Copies everything of another array but its elements, and then these, all of them or it has failed. */
    bool CopyFrom(GDALDataset *, const GDALMDArray *from, bool strict, GUInt64 &cost, const GUInt64 totalCost,
                  GDALProgressFunc progress, void *progressData) override
    {
        if (progress == nullptr)
            progress = GDALDummyProgress;
        cost += GDALMDArray::COPY_COST; // as GDAL counts an array
        const bool ok = zsGuard([&] {
            return this->CopyFromAllExceptValues(from, strict, cost, totalCost, progress, progressData) &&
                   zsMdimCopyValues(*this, *from, cost, totalCost, progress, progressData);
        });
        if (!ok)
            m_store->MarkLost();
        return ok && zsGuard([&] { return m_store->FlushArray(m_node->path); });
    }
    bool IsWritable() const override
    {
        return m_store->IsUpdatable();
    }
    const std::string &GetFilename() const override
    {
        return m_filename;
    }
    CSLConstList GetStructuralInfo() const override
    {
        return m_structure.List();
    }
    std::shared_ptr<GDALAttribute> GetAttribute(const std::string &name) const override
    {
        return zsGuard([&] { return this->GetAttributeFromAttributes(name); });
    }
    std::shared_ptr<GDALAttribute> CreateAttribute(const std::string &name, const std::vector<GUInt64> &dimensions,
                                                   const GDALExtendedDataType &type, CSLConstList) override
    {
        return zsGuard([&] {
            return CheckThere()
                       ? zsMdimNewAttribute(m_store, m_node->path, this->GetFullName(), name, dimensions, type)
                       : nullptr;
        });
    }
#if ZS_GDAL_AT_LEAST(7)
    bool Resize(const std::vector<GUInt64> &sizes, CSLConstList) override
    {
        return zsGuard([&] { return CheckThere() && m_store->Resize(m_node, sizes); });
    }
#endif
#if ZS_GDAL_AT_LEAST(8)
    bool Rename(const std::string &given) override
    {
        return zsGuard([&] {
            const std::string name = zsUtf8(given);
            if (!CheckThere() || !m_store->Rename(m_node->path, name))
                return false;
            this->BaseRename(name);
            return true;
        });
    }
    bool DeleteAttribute(const std::string &name, CSLConstList) override
    {
        return zsGuard([&] {
            return CheckThere() && zsMdimDeleteAttribute(m_store, m_node->path, this->GetFullName(), name);
        });
    }
    std::shared_ptr<GDALGroup> GetRootGroup() const override
    {
        return zsGuard([&] { return m_store->RootGroup(); });
    }
#endif
};
