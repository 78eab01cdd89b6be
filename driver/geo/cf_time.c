#include "geo/cf_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_string.h>

#include "geo/conventions.h"

#define SECOND ((zs_instant)1000000000)
#define DAY (86400 * SECOND)

/* Years that are printed. */
#define FIRST_YEAR (-9999)
#define LAST_YEAR 99999

/* ---- Days of each calendar, counted from its 1970-01-01; of the Julian one from the Gregorian 1970-01-01 ---- */

static int64_t floor_div(zs_instant a, zs_instant b)
{
    return (int64_t)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static bool is_leap(enum zs_calendar calendar, int64_t year)
{
    return calendar == ZS_CALENDAR_ALL_LEAP || (calendar == ZS_CALENDAR_JULIAN && year % 4 == 0) ||
           (calendar == ZS_CALENDAR_GREGORIAN && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* Days before the first one of a year. */
static int64_t days_before_year(enum zs_calendar calendar, int64_t year)
{
    const int64_t years = year - 1970, last = year - 1;
    switch (calendar) {
    case ZS_CALENDAR_360_DAY:
        return years * 360;
    case ZS_CALENDAR_NOLEAP:
        return years * 365;
    case ZS_CALENDAR_ALL_LEAP:
        return years * 366;
    case ZS_CALENDAR_JULIAN: /* 492 leap days up to 1969; its 1970-01-01 is the Gregorian 14th */
        return years * 365 + floor_div(last, 4) - 492 + 13;
    default:
        return years * 365 + floor_div(last, 4) - floor_div(last, 100) + floor_div(last, 400) - (492 - 19 + 4);
    }
}

static int days_before_month(enum zs_calendar calendar, int64_t year, int month)
{
    static const int before[13] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    return calendar == ZS_CALENDAR_360_DAY ? 30 * (month - 1)
                                           : before[month] + (month > 2 && is_leap(calendar, year));
}

struct date {
    int year, month, day;
};

/* First day of the Gregorian calendar in the mixed one, 1582-10-15. */
#define SWITCH_DAY ((int64_t)-141427)

static int64_t days_of(enum zs_calendar calendar, struct date d)
{
    if (calendar == ZS_CALENDAR_STANDARD) {
        const int64_t days = days_of(ZS_CALENDAR_GREGORIAN, d);
        return days >= SWITCH_DAY ? days : days_of(ZS_CALENDAR_JULIAN, d);
    }
    return days_before_year(calendar, d.year) + days_before_month(calendar, d.year, d.month) + d.day - 1;
}

static struct date date_of(enum zs_calendar calendar, int64_t days)
{
    if (calendar == ZS_CALENDAR_STANDARD)
        calendar = days >= SWITCH_DAY ? ZS_CALENDAR_GREGORIAN : ZS_CALENDAR_JULIAN;
    const double length = calendar == ZS_CALENDAR_360_DAY ? 360 : calendar == ZS_CALENDAR_ALL_LEAP ? 366 : 365.2425;
    int year = 1970 + (int)floor((double)days / length), month = 12;
    while (days_before_year(calendar, year + 1) <= days)
        year++;
    while (days_before_year(calendar, year) > days)
        year--;
    const int of_year = (int)(days - days_before_year(calendar, year));
    while (days_before_month(calendar, year, month) > of_year)
        month--;
    return (struct date){year, month, of_year - days_before_month(calendar, year, month) + 1};
}

/* ---- Units ---- */

/* Lengths of numpy and CF, in months or nanoseconds; as CF counts datetime64 and timedelta64 (NULL: it has no unit of
 * that length); and as CF's units are spelt (udunits). CF's years and months are none that are meant (CF 4.4). Parts of
 * nanoseconds occur in no store. */
static const struct unit {
    const char *numpy, *since, *word, *spellings;
    int64_t months;
    zs_instant nanoseconds;
} units_of_time[] = {
    {"Y", "days since 1970-01-01", NULL, "", 12, 0},
    {"M", "days since 1970-01-01", NULL, "", 1, 0},
    {"W", "days since 1970-01-01", NULL, "week", 0, 7 * DAY},
    {"D", "days since 1970-01-01", "days", "day d", 0, DAY},
    {"h", "hours since 1970-01-01", "hours", "hour hr h", 0, 3600 * SECOND},
    {"m", "minutes since 1970-01-01", "minutes", "minute min", 0, 60 * SECOND},
    {"s", "seconds since 1970-01-01", "seconds", "second sec s", 0, SECOND},
    {"ms", "milliseconds since 1970-01-01", "milliseconds", "millisecond millisec msec ms", 0, 1000000},
    {"us", "microseconds since 1970-01-01", "microseconds", "microsecond microsec us", 0, 1000},
    {"ns", "nanoseconds since 1970-01-01", "nanoseconds", "nanosecond ns", 0, 1},
};
#define UNITS (sizeof units_of_time / sizeof units_of_time[0])

/* Length of a CF unit in nanoseconds; 0: it is none. */
static zs_instant unit_length(const char *word, size_t n)
{
    char name[24], known[24];
    if (n >= sizeof name)
        return 0;
    memcpy(name, word, n);
    name[n] = '\0';
    for (int plural = 0; plural < 2; plural++) {
        for (size_t i = 0; i < UNITS; i++)
            for (const char *list = units_of_time[i].spellings;
                 (list = zs_next_word(list, known, sizeof known)) != NULL;)
                if (zs_equals_ignoring_case(name, known))
                    return units_of_time[i].nanoseconds;
        if (n > 2 && (name[n - 1] == 's' || name[n - 1] == 'S'))
            name[n - 1] = '\0';
    }
    return 0;
}

static const struct unit *unit_of(const struct zs_dtype *dtype)
{
    for (size_t i = 0; i < UNITS; i++)
        if (strcmp(dtype->unit, units_of_time[i].numpy) == 0)
            return &units_of_time[i];
    return NULL;
}

const char *zs_time_units(const struct zs_dtype *dtype, bool is_text)
{
    const bool is_instant = dtype->type == ZS_DATETIME64;
    const struct unit *known = unit_of(dtype);
    if (known == NULL || (!(is_instant && is_text) && (dtype->unit_scale != 1 || known->word == NULL)))
        return NULL;
    return is_instant ? known->since : known->word;
}

/* ---- Reading texts ---- */

/* A date and a time as they are written, shortened or not. */
struct moment {
    struct date date;
    int time[3];
    int date_parts, time_parts; /* how many of year, month and day, of hour, minute and second there are */
    zs_instant fraction, step;  /* step: of the last decimal of the second, 0 without decimals */
    bool is_long;               /* the year has the digits that ISO 8601 wants: four, or five */
};

/* Reads a number of at most `most` digits; moves *text behind it. Returns how many there are. By hand: strtod() reads
 * the locale's decimal mark, strtol() signs and spaces. */
static int scan_number(const char **text, int most, int *number)
{
    int n = 0;
    *number = 0;
    for (; n < most && (*text)[n] >= '0' && (*text)[n] <= '9'; n++)
        *number = *number * 10 + ((*text)[n] - '0');
    *text += n;
    return n;
}

/* Reads what follows as a part of two digits, or one, behind `mark`; *text stays where there is none. */
static bool scan_part(const char **text, char mark, int *part)
{
    int number;
    const char *at = *text + 1;
    if (**text != mark || scan_number(&at, 2, &number) == 0)
        return false;
    *part = number;
    *text = at;
    return true;
}

/* Reads a date, and a time or none; moves *text behind them. False where that is none. */
static bool scan_moment(const char **text, struct moment *m)
{
    *m = (struct moment){.date = {0, 1, 1}};
    const int sign = **text == '-' ? -1 : 1;
    *text += sign < 0;
    const int digits = scan_number(text, 6, &m->date.year);
    m->date.year *= sign;
    m->is_long = digits == 4 || digits == 5;
    m->date_parts = 1 + scan_part(text, '-', &m->date.month);
    m->date_parts += m->date_parts == 2 && scan_part(text, '-', &m->date.day);
    const char *at = *text + (**text == 'T' || **text == 't');
    at += strspn(at, " ");
    if (at > *text && scan_number(&at, 2, &m->time[0]) > 0) {
        *text = at;
        for (m->time_parts = 1; m->time_parts < 3 && scan_part(text, ':', &m->time[m->time_parts]);)
            m->time_parts++;
    }
    at = *text + 1;
    if (m->time_parts == 3 && **text == '.' && *at >= '0' && *at <= '9') {
        for (zs_instant unit = SECOND / 10; *at >= '0' && *at <= '9'; at++, unit /= 10) {
            m->fraction += unit * (*at - '0');
            m->step = unit > 0 ? unit : 1;
        }
        *text = at;
    }
    return digits > 0 && m->date.month >= 1 && m->date.month <= 12 && m->date.day >= 1 && m->date.day <= 31 &&
           m->time[0] <= 24 && m->time[1] <= 59 && m->time[2] <= 60;
}

/* Whether a calendar has the day. */
static bool is_of_calendar(enum zs_calendar calendar, const struct date *d)
{
    const struct date same = date_of(calendar, days_of(calendar, *d));
    return same.month == d->month && same.day == d->day;
}

static zs_instant instant_of(enum zs_calendar calendar, const struct moment *m)
{
    return days_of(calendar, m->date) * DAY + (m->time[0] * 3600 + m->time[1] * 60 + m->time[2]) * SECOND + m->fraction;
}

/* Time zone at the end of a reference date: "Z", "UTC", "+01:00", "-0530", "+2". False when it is none of these. */
static bool scan_zone(const char *text, zs_instant *offset)
{
    int hours, minutes = 0;
    *offset = 0;
    text += strspn(text, " ");
    if (*text == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "UTC") == 0 || strcmp(text, "GMT") == 0)
        return true;
    const int sign = *text == '-' ? -1 : 1;
    if (*text++ != '+' && sign > 0)
        return false;
    const int digits = scan_number(&text, 2, &hours);
    text += *text == ':';
    (void)scan_number(&text, 2, &minutes);
    *offset = sign * (hours * 60 + minutes) * 60 * SECOND;
    return digits > 0 && *text == '\0';
}

static bool find_calendar(const char *name, enum zs_calendar *calendar)
{
    static const struct {
        const char *name;
        enum zs_calendar calendar;
    } known[] = {
        {"standard", ZS_CALENDAR_STANDARD},       {"gregorian", ZS_CALENDAR_STANDARD},
        {"proleptic_gregorian", ZS_CALENDAR_GREGORIAN}, {"julian", ZS_CALENDAR_JULIAN},
        {"noleap", ZS_CALENDAR_NOLEAP},           {"365_day", ZS_CALENDAR_NOLEAP},
        {"all_leap", ZS_CALENDAR_ALL_LEAP},       {"366_day", ZS_CALENDAR_ALL_LEAP},
        {"360_day", ZS_CALENDAR_360_DAY},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (zs_equals_ignoring_case(name != NULL ? name : "standard", known[i].name)) {
            *calendar = known[i].calendar;
            return true;
        }
    return false;
}

bool zs_cf_time_parse(const char *units, const char *calendar, struct zs_time_unit *unit)
{
    struct moment m;
    zs_instant zone;
    memset(unit, 0, sizeof *unit);
    const char *since = units != NULL ? strstr(units, " since ") : NULL;
    if (since == NULL || !find_calendar(calendar, &unit->calendar))
        return false;
    units += strspn(units, " ");
    const char *date = since + 7 + strspn(since + 7, " ");
    unit->nanoseconds = units < since ? unit_length(units, (size_t)(since - units)) : 0;
    if (unit->nanoseconds == 0 || !scan_moment(&date, &m) || !scan_zone(date, &zone))
        return false;
    unit->epoch = instant_of(unit->calendar, &m) - zone;
    return true;
}

bool zs_time_unit_find(const struct zs_dtype *dtype, const zs_json *attributes, struct zs_time_unit *unit)
{
    const struct unit *known = unit_of(dtype);
    if (dtype->type != ZS_DATETIME64)
        return dtype->type != ZS_TIMEDELTA64 &&
               zs_cf_time_parse(zs_json_text(attributes, "units", NULL), zs_json_text(attributes, "calendar", NULL),
                                unit);
    if (known == NULL)
        return false;
    *unit = (struct zs_time_unit){
        .months = known->months * dtype->unit_scale, .nanoseconds = known->nanoseconds * dtype->unit_scale};
    return true;
}

bool zs_time_span(enum zs_calendar calendar, const char *text, zs_instant *from, zs_instant *to)
{
    static const zs_instant lengths[] = {DAY, 3600 * SECOND, 60 * SECOND, SECOND}; /* of what is given last */
    struct moment m;
    if (!scan_moment(&text, &m) || !m.is_long || (m.time_parts > 0 && m.date_parts < 3))
        return false;
    text += m.date_parts == 3 && *text == 'Z';
    if (*text != '\0' || !is_of_calendar(calendar, &m.date))
        return false;
    *from = instant_of(calendar, &m);
    if (m.date_parts == 3) {
        *to = *from + (m.step != 0 ? m.step : lengths[m.time_parts]);
        return true;
    }
    m.date.month = m.date_parts == 1 ? 13 : m.date.month + 1;
    m.date.year += m.date.month == 13;
    m.date.month = m.date.month == 13 ? 1 : m.date.month;
    *to = instant_of(calendar, &m);
    return true;
}

bool zs_time_number(const struct zs_time_unit *unit, const char *text, char *number, size_t capacity)
{
    struct moment m;
    zs_instant zone;
    text += strspn(text, " ");
    if (unit->nanoseconds == 0 || !scan_moment(&text, &m) || m.date_parts < 3 || !scan_zone(text, &zone) ||
        !is_of_calendar(unit->calendar, &m.date))
        return false;
    const zs_instant since = instant_of(unit->calendar, &m) - zone - unit->epoch, count = since / unit->nanoseconds;
    const zs_instant rest = since % unit->nanoseconds;
    if (rest == 0 && count > INT64_MIN && count <= INT64_MAX)
        snprintf(number, capacity, "%lld", (long long)count);
    else
        CPLsnprintf(number, capacity, "%.17g", (double)count + (double)rest / (double)unit->nanoseconds);
    return true;
}

/* ---- Instants ---- */

/* Whether so many units are more than the years that are printed; of NaN, too. */
static bool is_beyond(const struct zs_time_unit *unit, double count)
{
    const double length = (double)unit->nanoseconds + (double)unit->months * 28 * (double)DAY;
    return !(fabs(count) * length <= LAST_YEAR * 366.0 * (double)DAY);
}

bool zs_time_instant_int(const struct zs_time_unit *unit, zs_instant count, zs_instant *instant)
{
    if (is_beyond(unit, (double)count))
        return false;
    *instant = unit->epoch + count * unit->nanoseconds;
    if (unit->months != 0) {
        const int64_t months = (int64_t)count * unit->months, year = floor_div(months, 12);
        const struct date d = {1970 + (int)year, (int)(months - year * 12) + 1, 1};
        *instant = days_of(unit->calendar, d) * DAY;
    }
    return true;
}

bool zs_time_instant_double(const struct zs_time_unit *unit, double count, zs_instant *instant)
{
    if (is_beyond(unit, count))
        return false;
    if (unit->months != 0 || (count == floor(count) && fabs(count) < 9e15))
        return zs_time_instant_int(unit, (zs_instant)floor(count), instant);
    const double seconds = count * ((double)unit->nanoseconds / 1e9), whole = floor(seconds);
    /* A double of days since 1900 is exact to a microsecond only: more decimals would be noise. */
    const double micro = floor((seconds - whole) * 1e6 + 0.5);
    *instant = unit->epoch + (zs_instant)whole * SECOND + (zs_instant)micro * 1000;
    return true;
}

bool zs_instant_print(enum zs_calendar calendar, zs_instant instant, char *out, size_t capacity)
{
    const int64_t days = floor_div(instant, DAY);
    const zs_instant of_day = instant - days * DAY;
    const int seconds = (int)(of_day / SECOND), nanoseconds = (int)(of_day % SECOND);
    const struct date d = date_of(calendar, days);
    int n = snprintf(out, capacity, "%s%04d-%02d-%02dT%02d:%02d:%02d", d.year < 0 ? "-" : "", abs(d.year), d.month,
                     d.day, seconds / 3600, seconds / 60 % 60, seconds % 60);
    if (nanoseconds != 0) {
        n += snprintf(out + n, capacity - (size_t)n, ".%09d", nanoseconds);
        while (out[n - 1] == '0')
            out[--n] = '\0';
    }
    return d.year >= FIRST_YEAR && d.year <= LAST_YEAR;
}
