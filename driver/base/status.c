#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void zs_error_set(struct zs_error *err, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
}

void zs_error_prefix(struct zs_error *err, const char *format, ...)
{
    if (err == NULL)
        return;
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
}
