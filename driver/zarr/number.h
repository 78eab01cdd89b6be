/* zarr/number.h: JSON number tokens to and from native numbers, whatever LC_NUMERIC the process has set (a Qt program
 * in Germany reads "0.5" as 0 with plain strtod). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the number that `text` (n bytes) begins with, by the grammar of RFC 8259; also the tokens NaN, Infinity and
 * -Infinity, which Python writes. 0 when it begins with none. What follows the number is not looked at. */
size_t zs_number_length(const char *text, size_t n);

/* Each returns whether `token` is, whole, a number as above and the value fits; *out is left alone otherwise. Integers
 * without fraction and exponent are exact; others ("3.0", "3e0") are read as a double, since that is what wrote them,
 * and must be integral. A finite token that overflows a double or float does not fit. */
bool zs_number_double(const char *token, double *out);
bool zs_number_float(const char *token, float *out); /* rounded once, not by way of a double */
bool zs_number_int64(const char *token, int64_t *out);
bool zs_number_uint64(const char *token, uint64_t *out);

/* Shortest token that reads back as `value`, as Python writes it ("0.1", "3.0", "1e+20"); NaN, Infinity, -Infinity. */
#define ZS_NUMBER_SIZE 64
void zs_number_print(double value, char text[ZS_NUMBER_SIZE]);
