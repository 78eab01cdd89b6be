#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "zarr/json.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* strtod and printf follow the thread's locale: this one is switched to around them. */
static locale_t enter_c_locale(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c != (locale_t)0 ? uselocale(c) : (locale_t)0;
}

static void leave_c_locale(locale_t before)
{
    if (before != (locale_t)0)
        freelocale(uselocale(before));
}

static size_t digits(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

static bool begins_with(const char *text, size_t n, const char *word)
{
    return n >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

size_t zs_number_length(const char *text, size_t n)
{
    if (begins_with(text, n, "NaN"))
        return 3;
    size_t i = n > 0 && text[0] == '-' ? 1 : 0;
    if (begins_with(text + i, n - i, "Infinity"))
        return i + 8;
    const size_t whole = digits(text + i, n - i);
    if (whole == 0 || (whole > 1 && text[i] == '0'))
        return 0;
    i += whole;
    if (i < n && text[i] == '.') {
        const size_t fraction = digits(text + i + 1, n - i - 1);
        if (fraction == 0)
            return 0;
        i += 1 + fraction;
    }
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        size_t j = i + 1;
        if (j < n && (text[j] == '+' || text[j] == '-'))
            j++;
        const size_t exponent = digits(text + j, n - j);
        if (exponent == 0)
            return 0;
        i = j + exponent;
    }
    return i;
}

static bool is_number(const char *token)
{
    const size_t n = strlen(token);
    return n > 0 && zs_number_length(token, n) == n;
}

static bool is_plain_integer(const char *token)
{
    return is_number(token) && strpbrk(token, ".eEN") == NULL && strchr(token, 'I') == NULL;
}

/* Reads a token as a float or a double, rounded once. */
static bool read_number(const char *token, bool is_float, double *out)
{
    double value;
    if (!is_number(token))
        return false;
    const locale_t before = enter_c_locale();
    value = is_float ? (double)strtof(token, NULL) : strtod(token, NULL);
    leave_c_locale(before);
    if (isinf(value) && strchr(token, 'I') == NULL) /* too large, and not called Infinity */
        return false;
    *out = value;
    return true;
}

bool zs_number_double(const char *token, double *out)
{
    return read_number(token, false, out);
}

bool zs_number_float(const char *token, float *out)
{
    double value;
    if (!read_number(token, true, &value))
        return false;
    *out = (float)value;
    return true;
}

/* Reads an integer, also one with a fraction or an exponent, as its sign and magnitude. */
static bool read_integer(const char *token, bool *is_negative, uint64_t *magnitude)
{
    double value;
    *is_negative = token[0] == '-';
    if (is_plain_integer(token)) {
        errno = 0;
        const uintmax_t read = strtoumax(token + *is_negative, NULL, 10);
        *magnitude = (uint64_t)read;
        return errno != ERANGE && read <= UINT64_MAX;
    }
    if (!zs_number_double(token, &value) || !(fabs(value) < 0x1p64) || value != floor(value))
        return false;
    *magnitude = (uint64_t)fabs(value);
    return true;
}

bool zs_number_int64(const char *token, int64_t *out)
{
    bool is_negative;
    uint64_t magnitude;
    if (!read_integer(token, &is_negative, &magnitude) || magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative && magnitude > 0 ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return true;
}

bool zs_number_uint64(const char *token, uint64_t *out)
{
    bool is_negative; /* -0 is 0 */
    uint64_t magnitude;
    if (!read_integer(token, &is_negative, &magnitude) || (is_negative && magnitude != 0))
        return false;
    *out = magnitude;
    return true;
}

void zs_number_print(double value, char text[ZS_NUMBER_SIZE])
{
    if (isnan(value) || isinf(value)) {
        (void)snprintf(text, ZS_NUMBER_SIZE, "%s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
        return;
    }
    int precision = 0;
    const locale_t before = enter_c_locale();
    do
        (void)snprintf(text, ZS_NUMBER_SIZE, "%.*e", precision, value);
    while (strtod(text, NULL) != value && precision++ < 16); /* 17 figures at most */
    const int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16) /* as people write numbers, unless that needs many zeros */
        (void)snprintf(text, ZS_NUMBER_SIZE, "%.*f", precision > exponent ? precision - exponent : 1, value);
    leave_c_locale(before);
}
