#include "zarr/json_private.h"

#include <string.h>

#include "zarr/number.h"

/* A string from its opening quote to behind its closing one; 0 when it does not end. */
static size_t string_length(const char *text, size_t n)
{
    const char *quote = n > 1 ? memchr(text + 1, '"', n - 1) : NULL;
    if (quote == NULL)
        return 0;
    if (memchr(text + 1, '\\', (size_t)(quote - text) - 1) == NULL) /* all but WKT */
        return (size_t)(quote - text) + 1;
    for (size_t i = 1; i < n; i++) {
        if (text[i] == '"')
            return i + 1;
        if (text[i] == '\\')
            i++;
    }
    return 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether the string that ended before text[i] is the name of a member. */
static bool is_name(const char *text, size_t n, size_t i)
{
    while (i < n && is_space(text[i]))
        i++;
    return i < n && text[i] == ':';
}

static bool begins_with_mark(const char *string, size_t n)
{
    const size_t mark = sizeof ZS_JSON_MARK_ESCAPED - 1;
    return (n > 2 && string[1] == ZS_JSON_MARK) ||
           (n > 1 + mark && memcmp(string + 1, ZS_JSON_MARK_ESCAPED, mark) == 0);
}

/* One token of the text: how long it is, and what is put into it. */
struct token {
    size_t length;    /* 0: malformed */
    bool is_space;    /* a run of white space, of which one stays: indentation is half of many documents */
    bool quoted;      /* gets quotes around it */
    bool marked;      /* gets the mark before its first character (behind the quote) */
};

static struct token token_at(const char *text, size_t n)
{
    struct token t = {.length = 1};
    if (text[0] == '"') {
        t.length = string_length(text, n);
        t.marked = t.length != 0 && begins_with_mark(text, t.length) && !is_name(text, n, t.length);
    } else if (text[0] == '-' || text[0] == 'N' || text[0] == 'I' || (text[0] >= '0' && text[0] <= '9')) {
        t.length = zs_number_length(text, n);
        t.quoted = t.marked = true;
        /* "1x" or "1-2": let the message be about the number, not about the string that we would make of it. */
        const size_t end = t.length;
        if (end < n && !is_space(text[end]) && (text[end] == '\0' || strchr(",]}:", text[end]) == NULL))
            t.length = 0;
    } else if (is_space(text[0])) {
        t.is_space = true;
        while (t.length < n && is_space(text[t.length]))
            t.length++;
    } else if ((unsigned char)text[0] < ' ') {
        t.length = 0;
    }
    return t;
}

#define MARK_LENGTH (sizeof ZS_JSON_MARK_ESCAPED - 1)

/* How long the token is in the result. */
static size_t written_length(struct token t)
{
    return t.is_space ? 1 : t.length + (t.quoted ? 2 : 0) + (t.marked ? MARK_LENGTH : 0);
}

/* How much there is of what is limited. */
struct extent {
    size_t depth, values;
};

/* That the token at text[i] is one, and that the text is not too much with it. */
static enum zs_status check(const char *text, size_t i, struct token t, struct extent *so_far, struct zs_error *err)
{
    const char c = text[i];
    if (t.length == 0 && c == '"')
        return zs_fail(err, ZS_INVALID, "not JSON: the string at offset %zu does not end", i);
    if (t.length == 0 && t.quoted)
        return zs_fail(err, ZS_INVALID, "not JSON: malformed number at offset %zu", i);
    if (t.length == 0)
        return zs_fail(err, ZS_INVALID, "not JSON: byte 0x%02x at offset %zu", (unsigned)(unsigned char)c, i);
    if ((c == '[' || c == '{') && ++so_far->depth > ZS_JSON_MAX_DEPTH)
        return zs_fail(err, ZS_INVALID, "JSON nested deeper than %d levels at offset %zu", ZS_JSON_MAX_DEPTH, i);
    if (c == ']' || c == '}')
        so_far->depth -= so_far->depth > 0;
    so_far->values += c == '[' || c == '{' || c == ',';
    if (so_far->values > ZS_JSON_MAX_VALUES)
        return zs_fail(err, ZS_INVALID, "JSON of more than %zu values", ZS_JSON_MAX_VALUES);
    return ZS_OK;
}

/* Writes the token that begins at `text`; returns where the next one goes. */
static char *put(char *p, const char *text, struct token t)
{
    size_t head = 0; /* what stands before the mark */
    if (t.is_space) {
        *p = ' ';
        return p + 1;
    }
    if (t.quoted) {
        *p++ = '"';
    } else if (t.marked) {
        *p++ = text[0];
        head = 1;
    }
    if (t.marked) {
        memcpy(p, ZS_JSON_MARK_ESCAPED, MARK_LENGTH);
        p += MARK_LENGTH;
    }
    memcpy(p, text + head, t.length - head);
    p += t.length - head;
    if (t.quoted)
        *p++ = '"';
    return p;
}

enum zs_status zs_json_scan(const char *text, size_t length, struct zs_buffer *out, struct zs_error *err)
{
    const char *nul = length != 0 ? memchr(text, '\0', length) : NULL;
    if (nul != NULL) /* cJSON would end a string there, or take it for a space */
        return zs_fail(err, ZS_INVALID, "not JSON: NUL byte at offset %zu", (size_t)(nul - text));
    struct extent so_far = {0};
    ZS_TRY(zs_buffer_reset(out, length + length / 2 + 1, err));
    out->size = 0;
    for (size_t i = 0; i < length;) {
        const struct token t = token_at(text + i, length - i);
        ZS_TRY(check(text, i, t, &so_far, err));
        const size_t room = written_length(t) + 1;
        if (out->capacity - out->size < room)
            ZS_TRY(zs_buffer_reserve(out, out->size + room, err));
        out->size = (size_t)(put((char *)out->data + out->size, text + i, t) - (char *)out->data);
        i += t.length;
    }
    out->data[out->size] = '\0';
    return ZS_OK;
}

enum zs_status zs_json_check(const char *text, size_t length, struct zs_error *err)
{
    if (length > ZS_JSON_MAX_BYTES)
        return zs_fail(err, ZS_INVALID, "JSON of %zu bytes, expected at most %zu", length, ZS_JSON_MAX_BYTES);
    struct extent so_far = {0};
    for (size_t i = 0; i < length;) {
        const struct token t = token_at(text + i, length - i);
        ZS_TRY(check(text, i, t, &so_far, err));
        i += t.length;
    }
    return ZS_OK;
}

size_t zs_json_scan_offset(const char *text, size_t length, size_t rewritten)
{
    size_t i = 0, to = 0;
    while (i < length) {
        const struct token t = token_at(text + i, length - i);
        if (to + written_length(t) > rewritten)
            break;
        to += written_length(t);
        i += t.length;
    }
    return i;
}
