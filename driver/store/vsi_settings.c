#include "store/vsi_settings.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

/* ---- Around calls ---- */

/* VSI functions print what they dislike and leave it as the last error; here both would be wrong: a missing object is
 * often normal, and the caller gets a status. /vsicurl would also list the parent directory of all it opens. */
void zs_vsi_quiet_begin(struct zs_vsi_quiet *q, const struct zs_store *store)
{
    q->type = (int)CPLGetLastErrorType();
    q->number = CPLGetLastErrorNo();
    q->message = q->type != (int)CE_None ? zs_strdup(CPLGetLastErrorMsg()) : NULL;
    q->readdir_set = store->is_remote && CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL) == NULL;
    if (q->readdir_set)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR");
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErrorReset();
    VSIErrorReset();
    errno = 0;
}

void zs_vsi_quiet_end(struct zs_vsi_quiet *q)
{
    CPLPopErrorHandler();
    VSIErrorReset();
    if (q->readdir_set)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL);
    CPLErrorSetState((CPLErr)q->type, q->number, q->message != NULL ? q->message : "");
    free(q->message);
}

const char *zs_vsi_reason(void)
{
    if (VSIGetLastErrorNo() != 0 && VSIGetLastErrorMsg()[0] != '\0')
        return VSIGetLastErrorMsg();
    if (CPLGetLastErrorMsg()[0] != '\0')
        return CPLGetLastErrorMsg();
    return errno != 0 ? strerror(errno) : "no reason given";
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

static void context_leave(void *options)
{
    (void)options;
    CPLSetThreadLocalConfigOptions(NULL);
}

static void context_release(void *options)
{
    CSLDestroy(options);
}

static void install_thread_context(void)
{
    static const struct zs_thread_context hooks = {context_capture, context_enter, context_leave, context_release};
    zs_parallel_set_thread_context(&hooks);
}

void zs_vsi_hand_down_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_thread_context);
}

/* ---- Names ---- */

char *zs_vsi_path(const struct zs_store *store, const char *key)
{
    if (key[0] == '\0')
        return zs_strdup(store->root);
    const size_t n = strlen(store->root);
    return zs_format(n > 0 && store->root[n - 1] == '/' ? "%s%s" : "%s/%s", store->root, key);
}

const char *zs_vsi_option(const char *path, const char *name)
{
    return VSIGetPathSpecificOption(path, name, NULL);
}

char *zs_vsi_object_url(const char *path)
{
    static const char *const systems[][2] = {
        {"/vsis3/", "AWS_NO_SIGN_REQUEST"}, {"/vsigs/", "GS_NO_SIGN_REQUEST"}, {"/vsiaz/", "AZURE_NO_SIGN_REQUEST"}};
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (strncmp(path, systems[i][0], strlen(systems[i][0])) != 0)
            continue;
        const char *no_sign = zs_vsi_option(path, systems[i][1]);
        if (no_sign != NULL && CPLTestBool(no_sign)) {
            const char *url = VSIGetActualURL(path);
            return url != NULL && strncmp(url, "http", 4) == 0 ? zs_strdup(url) : NULL;
        }
        char *url = VSIGetSignedURL(path, NULL);
        char *copy = url != NULL ? zs_strdup(url) : NULL;
        CPLFree(url);
        return copy;
    }
    return NULL;
}
