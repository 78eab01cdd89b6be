/* zarr/json_private.h: how the json files share their work. json.c alone knows cJSON.
 *
 * In the tree every number is a string: the mark, then the token as it was written. So 64-bit integers are exact,
 * printing gives back what was read, and neither cJSON's strtod nor its sprintf, which follow LC_NUMERIC, see a number.
 * A string value that itself begins with the mark has the mark twice. Names of members are left as they are. */
#ifndef ZS_ZARR_JSON_PRIVATE_H
#define ZS_ZARR_JSON_PRIVATE_H

#include "base/memory.h"
#include "zarr/json.h"

#define ZS_JSON_MARK '\x01'
#define ZS_JSON_MARK_ESCAPED "\\u0001"

/* Rewrites JSON text so that numbers are marked strings, into `out` (NUL-terminated, size without the NUL). Checks what
 * cJSON is lenient about: the grammar of numbers, control characters between tokens, depth, amount. */
enum zs_status zs_json_scan(const char *text, size_t length, struct zs_buffer *out, struct zs_error *err) ZS_MUST_CHECK;

/* Offset in the original text of offset `rewritten` in what zs_json_scan() made of it. */
size_t zs_json_scan_offset(const char *text, size_t length, size_t rewritten);

#endif
