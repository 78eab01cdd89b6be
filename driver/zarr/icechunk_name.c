/* Which commit of an Icechunk repository a name asks for. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/vsi.h"
#include "zarr/icechunk_private.h"

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

/* The last of the words behind a path, with the character before it; NULL where there is none. */
static char *last_word(char *path)
{
    char *question = strrchr(path, '?'), *and = strrchr(path, '&');
    char *last = and != NULL && (question == NULL || and > question) ? and : question;
    return last != NULL && word_of(last + 1) < WORDS ? last : NULL;
}

enum zs_status zs_icechunk_split(const char *path, char **root, char **commit, struct zs_error *err)
{
    char *left = zs_strdup(path), *taken = zs_strdup(""), *word;
    while (left != NULL && taken != NULL && (word = last_word(left)) != NULL) {
        if (!zs_path_is_remote(left) && zs_vsi_exists(left))
            break; /* a file has that name */
        char *longer = zs_format("%s%s%s", word + 1, taken[0] != '\0' ? "&" : "", taken);
        free(taken);
        taken = longer;
        *word = '\0';
    }
    if (left != NULL && taken != NULL) {
        *root = left;
        *commit = taken;
        return ZS_OK;
    }
    free(left);
    free(taken);
    return zs_fail(err, ZS_NO_MEMORY, "no memory for a name");
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;
    return found != NULL ? (int)(found - digits) % 16 : -1;
}

/* Undoes %XX, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++, to++) {
        const bool is_byte = from[0] == '%' && hex_digit(from[1]) >= 0 && hex_digit(from[2]) >= 0;
        *to = is_byte ? (char)(16 * hex_digit(from[1]) + hex_digit(from[2])) : *from;
        from += is_byte ? 2 : 0;
    }
    *to = '\0';
}

enum zs_status zs_icechunk_wish_parse(const char *commit, struct zs_icechunk_wish *wish, struct zs_error *err)
{
    *wish = (struct zs_icechunk_wish){.text = zs_strdup(commit)};
    const char **values[WORDS] = {&wish->branch, &wish->tag, &wish->snapshot, &wish->as_of};
    if (wish->text == NULL)
        return zs_fail(err, ZS_NO_MEMORY, "no memory for a name");
    for (char *word = wish->text, *next; word != NULL && *word != '\0'; word = next) {
        next = strchr(word, '&');
        if (next != NULL)
            *next++ = '\0';
        const size_t which = word_of(word);
        if (which == WORDS || *values[which] != NULL)
            return zs_fail(err, ZS_ARGUMENT, "expected branch=, tag=, snapshot= or as_of=, each once, found %.100s",
                           word);
        unescape(word);
        *values[which] = word + strlen(words[which]);
    }
    return ZS_OK;
}
