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
    quiet->readdir_set = store != NULL && store->is_remote &&
                         CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL) == NULL;
    if (quiet->readdir_set)
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
    if (quiet->readdir_set)
        CPLSetThreadLocalConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", NULL);
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

char *zs_vsi_xml_text(const char *xml, const char *name)
{
    char *open = zs_format("<%s>", name), *close = zs_format("</%s>", name), *text = NULL;
    const char *begin = open != NULL ? strstr(xml, open) : NULL;
    begin = begin != NULL ? begin + strlen(open) : NULL;
    const char *end = begin != NULL && close != NULL ? strstr(begin, close) : NULL;
    if (end != NULL)
        text = zs_strndup(begin, (size_t)(end - begin));
    char *plain = text != NULL ? CPLUnescapeString(text, NULL, CPLES_XML) : NULL;
    free(text);
    text = plain != NULL ? zs_strdup(plain) : NULL;
    CPLFree(plain);
    free(open);
    free(close);
    return text;
}

static void CPL_STDCALL keep_answer(CPLErr type, CPLErrorNum number, const char *message)
{
    struct zs_vsi_answer *a = CPLGetErrorHandlerUserData();
    if (type != CE_Debug)
        return;
    if (a->prints)
        CPLDefaultErrorHandler(type, number, message);
    a->is_bad = true;
    char *code = zs_vsi_xml_text(message, "Code"), *text = zs_vsi_xml_text(message, "Message");
    if (code != NULL) {
        free(a->reason);
        a->reason = text != NULL ? zs_format("%s: %s", code, text) : zs_strdup(code);
    }
    free(code);
    free(text);
}

void zs_vsi_answer_begin(struct zs_vsi_answer *answer)
{
    const char *before = CPLGetThreadLocalConfigOption("CPL_DEBUG", NULL);
    *answer = (struct zs_vsi_answer){.debug_before = before != NULL ? zs_strdup(before) : NULL};
    answer->prints = CPLGetConfigOption("CPL_DEBUG", NULL) != NULL;
    CPLSetThreadLocalConfigOption("CPL_DEBUG", "S3,GS,AZURE,ADLS,OSS,SWIFT"); /* and nothing else */
    CPLPushErrorHandlerEx(keep_answer, answer);
}

void zs_vsi_answer_end(struct zs_vsi_answer *answer)
{
    CPLPopErrorHandler();
    CPLSetThreadLocalConfigOption("CPL_DEBUG", answer->debug_before);
    free(answer->debug_before);
    free(answer->reason);
}

const char *zs_vsi_answer_reason(const struct zs_vsi_answer *answer)
{
    char *shown = answer->reason != NULL ? zs_text_shown(answer->reason) : NULL;
    const char *copy = shown != NULL ? CPLSPrintf("%s", shown) : zs_vsi_reason();
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
