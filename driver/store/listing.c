#include "store/listing.h"

#include <stdlib.h>

enum zs_status zs_names_add(struct zs_names *names, const char *name, size_t n, bool is_prefix, struct zs_error *err)
{
    if (names->count + 1 >= names->capacity) {
        const size_t capacity = names->capacity == 0 ? 16 : 2 * names->capacity;
        char **grown = realloc(names->list, capacity * sizeof *grown);
        if (grown == NULL)
            return zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list of %zu names", capacity);
        names->list = grown;
        names->capacity = capacity;
    }
    names->list[names->count] = zs_format(is_prefix ? "%.*s/" : "%.*s", (int)n, name);
    names->list[names->count + 1] = NULL;
    return names->list[names->count++] != NULL ? ZS_OK : zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list of names");
}

enum zs_status zs_names_finish(struct zs_names *names, enum zs_status status, char ***list, struct zs_error *err)
{
    if (status == ZS_OK && names->list == NULL && (names->list = zs_calloc(1, sizeof *names->list)) == NULL)
        status = zs_fail(err, ZS_NO_MEMORY, "cannot allocate a list");
    if (status == ZS_OK)
        *list = names->list;
    else
        zs_names_free(names->list);
    return status;
}
