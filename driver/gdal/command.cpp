/* `gdal driver shardedzarr validate STORE`: a face of validate/validate.h, as the program shardedzarr-validate is
 * one. */
#include "driver.h"

#if ZS_GDAL_AT_LEAST(11)

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gdalalgorithm.h>

#include "guard.h"

extern "C"
{
#include "validate/validate.h"
}

namespace
{

class ZSValidate final : public GDALAlgorithm
{
  public:
    ZSValidate()
        : GDALAlgorithm("validate", "Check that a store is what its metadata say: documents, indexes, every chunk.", "")
    {
        AddProgressArg();
        AddArg("dataset", 0, "Path of the store", &store_)
            .SetPositional()
            .SetRequired()
            .AddAlias("input")
            .AddHiddenAlias("store"); // its first name
        AddArg("metadata-only", 0, "Leave the chunks out", &metadataOnly_);
        AddArg("threads", 0, "Number of threads that decode. Default: one per processor", &threads_)
            .SetMinValueIncluded(1);
        AddOutputStringArg(&output_);
    }

  protected:
    bool RunImpl(GDALProgressFunc progress, void *progressData) override
    {
        return zsGuard([&] { return Check(progress, progressData); });
    }

  private:
    std::string store_, output_;
    bool metadataOnly_ = false;
    int threads_ = 0;
    int shown_ = -1; // of progress, in percent
    GDALProgressFunc progress_ = nullptr;
    void *progressData_ = nullptr;

    bool Check(GDALProgressFunc progress, void *progressData)
    {
        zs_validate_options options = {};
        options.threads = threads_;
        options.metadata_only = metadataOnly_;
        options.report = Report;
        options.progress = Progress;
        options.ctx = this;
        progress_ = progress;
        progressData_ = progressData;
        zs_validate_summary summary;
        zs_error err;
        const zs_status status = zs_validate(store_.c_str(), &options, &summary, &err);
        if (status == ZS_OK)
            Progress(this, 1);
        char *text = zs_validate_summary_text(&summary, store_.c_str());
        Print(text);
        free(text);
        if (status != ZS_OK)
            ReportError(CE_Failure, CPLE_AppDefined, "%s", err.message);
        else if (summary.errors > 0)
            ReportError(CE_Failure, CPLE_AppDefined, "%s: found errors", store_.c_str());
        else if (summary.unchecked > 0)
            ReportError(CE_Failure, CPLE_AppDefined, "%s: not everything could be checked", store_.c_str());
        return status == ZS_OK && zs_validate_exit_code(&summary) == 0;
    }

    /* The program shows output-string only of what succeeded, and at the end. */
    void Print(const char *text)
    {
        if (text != nullptr && IsCalledFromCommandLine())
            puts(text);
        else if (text != nullptr)
            output_.append(text).append("\n");
    }

    static void Report(void *ctx, const zs_finding *finding)
    {
        auto self = static_cast<ZSValidate *>(ctx);
        char *text = zs_finding_text(finding, self->store_.c_str());
        zsGuard([&] { self->Print(text); });
        free(text);
    }

    /* GDAL's own bar is in stdout, between the findings. */
    static bool Progress(void *ctx, double done)
    {
        auto self = static_cast<ZSValidate *>(ctx);
        if (self->progress_ != nullptr && self->IsCalledFromCommandLine())
        {
            zs_validate_show_progress(done, &self->shown_);
            return true;
        }
        return self->progress_ == nullptr || self->progress_(done, "", self->progressData_) != FALSE;
    }
};

GDALAlgorithm *instantiate(const std::vector<std::string> &path)
{
    return path.size() == 1 && path[0] == "validate" ? new ZSValidate() : nullptr;
}

} // namespace

void zsAddCommands(GDALDriver &driver)
{
    driver.pfnInstantiateAlgorithm = ZSGuarded<instantiate>::Call;
    driver.DeclareAlgorithm({"validate"});
}

#else

void zsAddCommands(GDALDriver &)
{
}

#endif
