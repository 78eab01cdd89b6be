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

#define MARK_LENGTH (sizeof ZS_JSON_MARK_ESCAPED - 1)

static bool begins_with_mark(const char *string, size_t n)
{
    return (n > 2 && string[1] == ZS_JSON_MARK) ||
           (n > 1 + MARK_LENGTH && memcmp(string + 1, ZS_JSON_MARK_ESCAPED, MARK_LENGTH) == 0);
}

/* Whether the mark that a string begins with is followed by a quote. */
static bool has_quote_behind_mark(const char *string)
{
    const char *next = string + (string[1] == ZS_JSON_MARK ? 2 : 1 + MARK_LENGTH);
    return strncmp(next, "\\\"", 2) == 0 || strncmp(next, "\\u0022", 6) == 0;
}

/* Characters of an escape \uXXXX. */
#define ESCAPE_LENGTH 6

/* The code unit of an escape at the beginning of n bytes; -1: it is malformed, or something else. */
static long unit_at(const char *text, size_t n)
{
    long unit = 0;
    if (n < ESCAPE_LENGTH || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (int i = 2; i < ESCAPE_LENGTH; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 32) : text[i];
        const char *digit = memchr(digits, c, sizeof digits - 1);
        if (digit == NULL)
            return -1;
        unit = unit * 16 + (digit - digits);
    }
    return unit;
}

static bool is_high(long unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(long unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* The next escape of a code unit that cJSON cannot hold, at or behind text[i]: of a NUL, at which C strings end, or of
 * a surrogate that is none of a pair. n where there is none. */
static size_t next_odd_escape(const char *text, size_t n, size_t i)
{
    while (i < n) {
        const char *escape = memchr(text + i, '\\', n - i);
        if (escape == NULL)
            break;
        i = (size_t)(escape - text);
        const long unit = unit_at(escape, n - i);
        const bool is_pair = is_high(unit) && n - i > ESCAPE_LENGTH &&
                             is_low(unit_at(escape + ESCAPE_LENGTH, n - i - ESCAPE_LENGTH));
        if (!is_pair && (unit == 0 || is_high(unit) || is_low(unit)))
            return i;
        i += is_pair ? 2 * ESCAPE_LENGTH : unit >= 0 ? ESCAPE_LENGTH : 2;
    }
    return n;
}

/* Whether a body has an escape that JSON has not: cJSON takes \u without four digits for a NUL, and does not see what
 * is kept verbatim. */
static bool has_malformed_escape(const char *text, size_t n)
{
    for (const char *p = text, *end = text + n; p < end && (p = memchr(p, '\\', (size_t)(end - p))) != NULL; p += 2)
        if (end - p < 2 || memchr("\"\\/bfnrtu", p[1], 9) == NULL ||
            (p[1] == 'u' && unit_at(p, (size_t)(end - p)) < 0))
            return true;
    return false;
}

/* One token of the text: how long it is, and what is put into it. */
struct token {
    size_t length;      /* 0: malformed */
    bool is_space;      /* a run of white space, of which one stays: indentation is half of many documents */
    bool quoted;        /* gets quotes around it */
    bool marked;        /* gets the mark before its first character (behind the quote) */
    bool is_verbatim;   /* a string that is kept as it was written (json_private.h) ... */
    bool is_name;       /* ... and is the name of a member */
    bool has_bad_escape; /* why it is malformed */
};

static struct token string_at(const char *text, size_t n)
{
    struct token t = {.length = string_length(text, n)};
    if (t.length == 0)
        return t;
    const bool is_marked = begins_with_mark(text, t.length);
    const bool is_plain = !is_marked && memchr(text, '\\', t.length) == NULL;
    if (is_plain)
        return t;
    const size_t body = t.length - 2;
    t.is_name = is_name(text, n, t.length);
    t.has_bad_escape = has_malformed_escape(text + 1, body);
    t.is_verbatim = (is_marked && t.is_name && has_quote_behind_mark(text)) ||
                    next_odd_escape(text + 1, body, 0) < body;
    t.marked = is_marked && !t.is_name && !t.is_verbatim;
    t.length = t.has_bad_escape ? 0 : t.length;
    return t;
}

static struct token token_at(const char *text, size_t n)
{
    struct token t = {.length = 1};
    if (text[0] == '"') {
        t = string_at(text, n);
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

/* The part of a body that is shown: up to a NUL. */
static size_t shown_length(const char *body, size_t n)
{
    size_t i = next_odd_escape(body, n, 0);
    while (i < n && unit_at(body + i, n - i) != 0)
        i = next_odd_escape(body, n, i + ESCAPE_LENGTH);
    return i;
}

/* Of a body, how many characters get a backslash where it stands in a string. */
static size_t count_special(const char *body, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += body[i] == '\\' || body[i] == '"';
    return count;
}

/* How long the token is in the result. */
static size_t written_length(const char *text, struct token t)
{
    if (t.is_verbatim) { /* quote, mark, \", the body with its escapes, and of a value \" and what is shown; quote */
        const char *body = text + 1;
        const size_t n = t.length - 2;
        return 2 + MARK_LENGTH + 2 + n + count_special(body, n) + (t.is_name ? 0 : 2 + shown_length(body, n));
    }
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
    if (t.length == 0 && t.has_bad_escape)
        return zs_fail(err, ZS_INVALID, "not JSON: malformed escape in the string at offset %zu", i);
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

/* Writes a body so that cJSON makes the body itself of it. */
static char *put_escaped(char *p, const char *body, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (body[i] == '\\' || body[i] == '"')
            *p++ = '\\';
        *p++ = body[i];
    }
    return p;
}

/* Writes what is shown of a body: U+FFFD for each surrogate that is none of a pair. */
static char *put_shown(char *p, const char *body, size_t n)
{
    const size_t shown = shown_length(body, n);
    memcpy(p, body, shown);
    for (size_t i = next_odd_escape(body, n, 0); i < shown; i = next_odd_escape(body, n, i + ESCAPE_LENGTH))
        memcpy(p + i, "\\ufffd", ESCAPE_LENGTH);
    return p + shown;
}

static char *put_verbatim(char *p, const char *text, struct token t)
{
    static const char quote[2] = {'\\', ZS_JSON_QUOTE};
    const char *body = text + 1;
    const size_t n = t.length - 2;
    *p++ = '"';
    memcpy(p, ZS_JSON_MARK_ESCAPED, MARK_LENGTH);
    memcpy(p + MARK_LENGTH, quote, sizeof quote);
    p = put_escaped(p + MARK_LENGTH + sizeof quote, body, n);
    if (!t.is_name) {
        memcpy(p, quote, sizeof quote);
        p = put_shown(p + sizeof quote, body, n);
    }
    *p++ = '"';
    return p;
}

/* Writes the token that begins at `text`; returns where the next one goes. */
static char *put(char *p, const char *text, struct token t)
{
    size_t head = 0; /* what stands before the mark */
    if (t.is_verbatim)
        return put_verbatim(p, text, t);
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
        const size_t room = written_length(text + i, t) + 1;
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

size_t zs_json_body_length(const char *text)
{
    size_t n = 0;
    while (text[n] != '\0' && text[n] != '"')
        n += text[n] == '\\' && text[n + 1] != '\0' ? 2 : 1;
    return n;
}

size_t zs_json_scan_offset(const char *text, size_t length, size_t rewritten)
{
    size_t i = 0, to = 0;
    while (i < length) {
        const struct token t = token_at(text + i, length - i);
        const size_t written = written_length(text + i, t);
        if (to + written > rewritten)
            break;
        to += written;
        i += t.length;
    }
    return i;
}
