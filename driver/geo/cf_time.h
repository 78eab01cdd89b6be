/* geo/cf_time.h: instants of the CF conventions (section 4.4) and of numpy's datetime64, as ISO 8601. Internal to the
 * room.
 *
 * An instant is a count of nanoseconds of its second, and seconds since 1970-01-01T00:00:00 of its calendar: exact for
 * every unit, without leap seconds. */
#pragma once

#include "zarr/dtype.h"

enum zs_calendar {
    ZS_CALENDAR_GREGORIAN, /* proleptic */
    ZS_CALENDAR_STANDARD,  /* Julian before 1582-10-15 */
    ZS_CALENDAR_JULIAN,
    ZS_CALENDAR_NOLEAP,
    ZS_CALENDAR_ALL_LEAP,
    ZS_CALENDAR_360_DAY
};

/* An instant: seconds since 1970-01-01T00:00:00 of its calendar, and nanoseconds (0 to 999,999,999) of the next. */
struct zs_instant {
    int64_t seconds, nanoseconds;
};

struct zs_time_unit {
    enum zs_calendar calendar;
    int64_t nanoseconds; /* length of the unit */
    int64_t months;      /* numpy's Y and M: the unit in months (nanoseconds is then 0) */
    struct zs_instant epoch;
};

/* Reads "<unit> since <date>[ time[ zone]]" and a calendar name (NULL: standard). False when they are not understood:
 * the units are then those of an ordinary quantity. */
bool zs_cf_time_parse(const char *units, const char *calendar, struct zs_time_unit *unit);

/* The unit of datetime64 ("Y" to "as") times `scale`. False for "generic" and anything else. */
bool zs_datetime_unit(const char *name, int64_t scale, struct zs_time_unit *unit);

/* CF units of the elements of a type that counts time ("seconds since 1970-01-01" for datetime64, "seconds" for
 * timedelta64); NULL for all others, and where CF has none of that length. With is_text: for datetime64 of any length,
 * the unit in which its texts are counted. */
const char *zs_time_units(const struct zs_dtype *dtype, bool is_text);

/* The instant `count` units after the epoch. False where it has no text. */
bool zs_time_instant_int(const struct zs_time_unit *unit, int64_t count, struct zs_instant *instant);
bool zs_time_instant_double(const struct zs_time_unit *unit, double count, struct zs_instant *instant);

/* An instant as text ("2024-05-01T06:00:00", with as many decimals as it needs). False when it lies outside the years
 * -9999 to 99999 or the buffer is too small; 48 bytes always do. */
bool zs_instant_print(enum zs_calendar calendar, struct zs_instant instant, char *out, size_t capacity);

/* Before, the same, or after: -1, 0, 1. */
int zs_instant_compare(struct zs_instant a, struct zs_instant b);

/* What a text in ISO 8601 stands for, from *from up to but without *to: "2024" is a year, "2024-05" a month,
 * "2024-05-01T06" an hour, "2024-05-01T06:00:00" a second, with decimals the last of these. T may be a space, and Z
 * may follow. False when it is none of these, or no date of the calendar. */
bool zs_time_span(enum zs_calendar calendar, const char *text, struct zs_instant *from, struct zs_instant *to);

/* The inverse for units that are so many nanoseconds: how many are from the epoch to an instant as those functions
 * write it, as a text; 32 bytes do. False when the text is no instant. */
bool zs_time_number(const struct zs_time_unit *unit, const char *text, char *number, size_t capacity);
