/* zarr/json_private.h: how the json files share their work. json.c alone includes cJSON.
 *
 * In the tree every number is a string: the mark, then the token as it was written. So 64-bit integers are exact,
 * printing gives back what was read, and neither cJSON's strtod nor its sprintf, which follow LC_NUMERIC, see a number.
 * A string value that itself begins with the mark has the mark twice.
 *
 * A string with an escaped NUL, or with a surrogate that is none of a pair, is kept verbatim: the mark, a quote, the
 * text between its quotes as it was written, a quote, and what is shown of it. So printing gives back what was read.
 * A member's name of that kind is kept without the last quote and the shown text. A name that begins with a mark and a
 * quote is kept so, too: no caller looks such names up, and different names stay different. */
#pragma once

#include "base/memory.h"
#include "zarr/json.h"

#define ZS_JSON_MARK '\x01'
#define ZS_JSON_MARK_ESCAPED "\\u0001"
#define ZS_JSON_QUOTE '"'

/* Whether a string of the tree is kept verbatim. */
static inline bool zs_json_is_kept(const char *string)
{
    return string[0] == ZS_JSON_MARK && string[1] == ZS_JSON_QUOTE;
}

/* How many bytes of a text are between the quotes of a string: to the first quote without a backslash, or all. */
size_t zs_json_body_length(const char *text);

/* Where the text of a string that is kept verbatim begins in the node, and how long it is; NULL for another node. */
const char *zs_json_verbatim(const zs_json *node, size_t *n);

/* Rewrites JSON text so that numbers are marked strings, into `out` (NUL-terminated, size without the NUL). Checks what
 * cJSON is lenient about: the grammar of numbers, control characters between tokens, depth, amount. */
enum zs_status zs_json_scan(const char *text, size_t length, struct zs_buffer *out, struct zs_error *err);

/* Offset in the original text of offset `rewritten` in what zs_json_scan() made of it. */
size_t zs_json_scan_offset(const char *text, size_t length, size_t rewritten);
