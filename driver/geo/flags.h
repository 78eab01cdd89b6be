/* geo/flags.h: CF's flags (conventions 3.5): what single values, or bits, of an array stand for; and which of its
 * elements say that a pixel is valid. Sources: `flag_values`, `flag_masks`, `flag_meanings` of CF, the last also as the
 * JSON list of EOPF; `flag_colors` of ESA's products ("#ff0000 #00ff00", or a list). */
#pragma once

#include "zarr/node.h"

/* More are not read: a table for people, not one for every number. */
#define ZS_MAX_FLAGS 65536

/* An element has the flag where (element & mask) == value. */
struct zs_flag {
    int64_t mask; /* all bits where there are no flag_masks */
    int64_t value;
    char *name; /* owned */
    unsigned char r, g, b;
};

/* Zero-initialise; released with zs_flags_clear(). */
struct zs_flags {
    struct zs_flag *list; /* in the order of the attributes */
    size_t count;
    bool has_masks, has_values; /* which of the two attributes there are; with masks alone a flag's value is its mask */
    bool has_colours;           /* of all flags */
};

/* Reads the flags of an array. None where an attribute is odd: values that are no whole numbers of 64 bits, lists of
 * different lengths. Colours that are odd are none. ZS_NO_MEMORY only. */
enum zs_status zs_flags_read(const zs_json *attributes, struct zs_flags *flags, struct zs_error *err);
void zs_flags_clear(struct zs_flags *flags);

/* ---- Validity ---- */

/* Longest list of flags that is taken for one of validity. */
#define ZS_MAX_VALIDITY_FLAGS 64

enum zs_validity_kind {
    ZS_VALID_TRUE,   /* what is not 0: of booleans */
    ZS_VALID_FINITE, /* floats that are neither infinite nor NaN */
    ZS_VALID_FLAGS
};

/* Which elements of an array mark a pixel as valid. */
struct zs_validity {
    enum zs_validity_kind kind;
    struct {
        int64_t mask, value;
        bool is_valid; /* else an element that has it is not */
    } flags[ZS_MAX_VALIDITY_FLAGS];
    size_t count;
    bool needs_valid; /* an element must have one of the flags that mean valid */
    bool is_plain;    /* 255 is valid, 0 is not, in an array of uint8: as GDAL's masks are; others are only read */
};

/* Reads it from an array's flags, of an integer type of at most 32 bits, or booleans. With flag_values alone each
 * meaning must be one of
 *   valid: valid, good, ok, usable, is_valid, valid_data
 *   invalid: invalid, not_valid, bad, no_data, nodata, missing, missing_data, unusable, fill, not_written
 * (case does not matter, "-" is "_"), and either each is there, or there is one of a boolean (the other value is the
 * opposite). With flag_masks those bits count whose meaning is one of these; others, clouds say, do not. False where
 * that leaves nothing: an array whose meanings are not known is no mask. */
bool zs_validity_read(const struct zs_node *node, struct zs_validity *validity);

/* Whether an element means valid. */
bool zs_validity_of(const struct zs_validity *validity, double element);
