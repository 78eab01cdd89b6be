/* Which commit of an Icechunk repository a name asks for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/vsi.h"
#include "icechunk/icechunk_private.h"
#include "zarr/name.h"

static const char *const words[] = {"branch=", "tag=", "snapshot=", "as_of="};
#define WORDS (sizeof words / sizeof words[0])

/* Which word a text begins with; WORDS where it is none. */
static size_t word_of(const char *text)
{
    size_t i = 0;
    while (i < WORDS && strncasecmp(text, words[i], strlen(words[i])) != 0)
        i++;
    return i;
}

/* Appends to a text of at most `size` bytes; there is room. */
static void append(char *text, size_t size, char before, const char *word, int n)
{
    const size_t at = strlen(text);
    (void)snprintf(text + at, size - at, "%.1s%.*s", &before, n, word);
}

/* Splits a path whose query begins at `query`: the words that name a commit go to `commit`, all else to `left`, each of
 * `size` bytes. */
static void split_query(const char *path, const char *query, char *left, char *commit, size_t size)
{
    (void)snprintf(left, size, "%.*s", (int)(query - path), path);
    for (const char *word = query, *next; word != NULL; word = next) { /* with the '?' or '&' before it */
        next = strchr(word + 1, '&');
        const int n = next != NULL ? (int)(next - word) - 1 : (int)strlen(word + 1);
        if (word_of(word + 1) < WORDS)
            append(commit, size, commit[0] != '\0' ? '&' : '\0', word + 1, n);
        else
            append(left, size, strlen(left) == (size_t)(query - path) ? '?' : '&', word + 1, n);
    }
}

enum zs_status zs_icechunk_split(const char *path, char **root, char **commit, struct zs_error *err)
{
    const size_t size = strlen(path) + 1;
    const char *query = strrchr(path, '?');
    char *left = zs_strdup(path), *taken = zs_calloc(1, size);
    if (left == NULL || taken == NULL) {
        free(left);
        free(taken);
        return zs_fail_memory(err);
    }
    if (query != NULL && (zs_path_is_remote(path) || !zs_vsi_exists(path)))
        split_query(path, query, left, taken, size); /* else a file has that name */
    *root = left;
    *commit = taken;
    return ZS_OK;
}

enum zs_status zs_icechunk_selector_parse(const char *commit, struct zs_icechunk_selector *selector,
                                          struct zs_error *err)
{
    *selector = (struct zs_icechunk_selector){.text = zs_strdup(commit)};
    const char **values[WORDS] = {&selector->branch, &selector->tag, &selector->snapshot, &selector->as_of};
    ZS_TRY_MEMORY(selector->text, err);
    for (char *word = selector->text, *next; word != NULL && *word != '\0'; word = next) {
        next = strchr(word, '&');
        if (next != NULL)
            *next++ = '\0';
        const size_t which = word_of(word);
        if (which == WORDS || *values[which] != NULL)
            return zs_fail(err, ZS_ARGUMENT, "expected branch=, tag=, snapshot= or as_of=, each once, found %.100s",
                           word);
        zs_unescape(word);
        *values[which] = word + strlen(words[which]);
    }
    return ZS_OK;
}
