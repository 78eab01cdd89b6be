#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_multiproc.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "store/vsi.h"

/* ---- Around calls ---- */

/* VSI functions print their errors and leave the last one set. Here both would be wrong: a missing object is often
 * normal, and the caller gets a status. /vsicurl would also list the parent directory of each file that it opens. */
void zs_vsi_quiet_begin(struct zs_vsi_quiet *quiet, const struct zs_store *store)
{
    quiet->type = (int)CPLGetLastErrorType();
    quiet->number = CPLGetLastErrorNo();
    quiet->message = quiet->type != (int)CE_None ? zs_strdup(CPLGetLastErrorMsg()) : NULL;
    quiet->options = CPLGetThreadLocalConfigOptions();
    if (store != NULL && store->is_remote && CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL) == NULL)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR");
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    VSIErrorReset();
    errno = 0;
}

void zs_vsi_quiet_end(struct zs_vsi_quiet *quiet)
{
    CPLPopErrorHandler();
    VSIErrorReset();
    CPLSetThreadLocalConfigOptions((const char *const *)quiet->options);
    CSLDestroy(quiet->options);
    CPLErrorSetState((CPLErr)quiet->type, quiet->number, quiet->message != NULL ? quiet->message : "");
    free(quiet->message);
}

const char *zs_vsi_reason(void)
{
    const char *reason = errno != 0 ? strerror(errno) : "no reason given";
    if (VSIGetLastErrorNo() != 0 && VSIGetLastErrorMsg()[0] != '\0')
        reason = VSIGetLastErrorMsg();
    else if (CPLGetLastErrorMsg()[0] != '\0')
        reason = CPLGetLastErrorMsg();
    char *shown = zs_text_shown(reason);
    const char *copy = CPLSPrintf("%s", shown != NULL ? shown : "");
    free(shown);
    return copy;
}

const char *zs_vsi_option(const char *path, const char *name)
{
    return VSIGetPathSpecificOption(path, name, NULL);
}

/* ---- In other threads ---- */

static void *context_capture(void)
{
    char **options = CPLGetThreadLocalConfigOptions();
    if (options == NULL || options[0] == NULL) {
        CSLDestroy(options);
        return NULL;
    }
    return options;
}

static void context_enter(void *options)
{
    CPLSetThreadLocalConfigOptions((const char *const *)options);
}

static void context_release(void *options)
{
    CSLDestroy(options);
}

static void install_thread_context(void)
{
    static const struct zs_thread_context hooks = {context_capture, context_enter, context_release};
    zs_parallel_set_thread_context(&hooks);
}

void zs_vsi_hand_down_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_thread_context);
}
