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

/* What a message adds to `context`, when it already names the same file or object, or one around it; NULL when it names
 * all of `context`. */
static const char *without_context(const char *message, const char *context)
{
    size_t n = 0; /* what both begin with */
    while (context[n] != '\0' && message[n] == context[n])
        n++;
    if (strchr(context, '/') == NULL)
        return message;
    if (context[n] == '\0' && strchr(":,/", message[n]) != NULL)
        return NULL;
    return n > 0 && strchr("/,", context[n]) != NULL && strncmp(message + n, ": ", 2) == 0 ? message + n + 2 : message;
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
    const char *rest = without_context(inner.message, err->message);
    if (rest == NULL) {
        *err = inner;
        return;
    }
    const size_t context = strlen(err->message);
    (void)snprintf(err->message + context, sizeof err->message - context, ": %s", rest);
}
