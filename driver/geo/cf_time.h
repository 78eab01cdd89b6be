/* geo/cf_time.h: instants of the CF conventions (section 4.4) and of numpy's datetime64, as ISO 8601. Internal to the
 * room. */
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

/* Nanoseconds since 1970-01-01T00:00:00 of a calendar, without leap seconds: exact for every unit and every year. */
__extension__ typedef __int128 zs_instant;

struct zs_time_unit {
    enum zs_calendar calendar;
    zs_instant nanoseconds; /* length of the unit */
    int64_t months;         /* numpy's Y and M: the unit in months (nanoseconds is then 0) */
    zs_instant epoch;
};

/* Reads "<unit> since <date>[ time[ zone]]" and a calendar name (NULL: standard). False when they are not understood:
 * the units are then those of an ordinary quantity. */
bool zs_cf_time_parse(const char *units, const char *calendar, struct zs_time_unit *unit);

/* The unit in which an array counts time: that of its type, datetime64, else of its attributes. False where it has none
 * ("generic" is none), and is an ordinary quantity. */
bool zs_time_unit_find(const struct zs_dtype *dtype, const zs_json *attributes, struct zs_time_unit *unit);

/* CF units of the elements of a type that counts time ("seconds since 1970-01-01" for datetime64, "seconds" for
 * timedelta64); NULL for all others, and where CF has none of that length. With is_text: for datetime64 of any length,
 * the unit in which its texts are counted. */
const char *zs_time_units(const struct zs_dtype *dtype, bool is_text);

/* The instant `count` (of 64 bits) units after the epoch. False where it lies far beyond the years that are printed. */
bool zs_time_instant_int(const struct zs_time_unit *unit, zs_instant count, zs_instant *instant);
bool zs_time_instant_double(const struct zs_time_unit *unit, double count, zs_instant *instant);

/* An instant as text ("2024-05-01T06:00:00", with as many decimals as it needs); 48 bytes do. False, and no such text,
 * when it lies outside the years -9999 to 99999. */
bool zs_instant_print(enum zs_calendar calendar, zs_instant instant, char *out, size_t capacity);

/* What a text in ISO 8601 stands for, from *from up to but without *to: "2024" is a year, "2024-05" a month,
 * "2024-05-01T06" an hour, "2024-05-01T06:00:00" a second, with decimals the last of these. T may be a space, and Z
 * may follow. False when it is none of these, or no date of the calendar. */
bool zs_time_span(enum zs_calendar calendar, const char *text, zs_instant *from, zs_instant *to);

/* The inverse for units that are so many nanoseconds: how many are from the epoch to an instant as those functions, or
 * units of other writers, write it (behind blanks, with a zone), as a text; 32 bytes do. False when the text is no
 * instant: a month is none. */
bool zs_time_number(const struct zs_time_unit *unit, const char *text, char *number, size_t capacity);
