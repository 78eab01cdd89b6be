#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum zs_status zs_fail(struct zs_error *err, enum zs_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

enum zs_status zs_fail_in(struct zs_error *err, enum zs_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    const struct zs_error inner = *err;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    const size_t context = strlen(err->message);
    const size_t room = sizeof err->message - 1 - context;
    if (room > 2) {
        memcpy(err->message + context, ": ", 2);
        const size_t kept = strlen(inner.message) < room - 2 ? strlen(inner.message) : room - 2;
        memcpy(err->message + context + 2, inner.message, kept);
        err->message[context + 2 + kept] = '\0';
    }
    return status;
}
