#include "geo/cf_time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cpl_string.h>

#include "geo/conventions.h"

#define SECONDS_PER_DAY ((int64_t)86400)
#define NANO ((int64_t)1000000000)

struct date {
    int64_t year;
    int month, day;
};

/* ---- Days of each calendar, counted from its 1970-01-01; of the Julian one from the Gregorian 1970-01-01 ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
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
    int64_t year = 1970 + (int64_t)floor((double)days / length);
    while (days_before_year(calendar, year + 1) <= days)
        year++;
    while (days_before_year(calendar, year) > days)
        year--;
    const int of_year = (int)(days - days_before_year(calendar, year));
    int month = 12;
    while (days_before_month(calendar, year, month) > of_year)
        month--;
    return (struct date){year, month, of_year - days_before_month(calendar, year, month) + 1};
}

/* ---- Reading units ---- */

static bool calendar_of(const char *name, enum zs_calendar *calendar)
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
    if (name == NULL)
        name = "standard";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (zs_equals_ignoring_case(name, known[i].name)) {
            *calendar = known[i].calendar;
            return true;
        }
    return false;
}

/* Length of a CF unit in nanoseconds; months and years have none that is meant (CF 4.4 advises against them). */
static int64_t unit_length(const char *word, size_t n)
{
    static const struct {
        const char *name;
        int64_t length;
    } known[] = {
        {"nanosecond", 1},      {"ns", 1},
        {"microsecond", 1000},  {"us", 1000},      {"microsec", 1000},
        {"millisecond", 1000000}, {"ms", 1000000}, {"msec", 1000000}, {"millisec", 1000000},
        {"second", NANO},       {"s", NANO},       {"sec", NANO},
        {"minute", 60 * NANO},  {"min", 60 * NANO},
        {"hour", 3600 * NANO},  {"hr", 3600 * NANO}, {"h", 3600 * NANO},
        {"day", SECONDS_PER_DAY * NANO}, {"d", SECONDS_PER_DAY * NANO},
        {"week", 7 * SECONDS_PER_DAY * NANO},
    };
    char name[24];
    if (n >= sizeof name)
        return 0;
    memcpy(name, word, n);
    name[n] = '\0';
    for (int plural = 0; plural < 2; plural++) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (zs_equals_ignoring_case(name, known[i].name))
                return known[i].length;
        if (n > 2 && (name[n - 1] == 's' || name[n - 1] == 'S'))
            name[n - 1] = '\0';
    }
    return 0;
}

/* Time zone at the end of a reference date: "Z", "UTC", "+01:00", "-0530", "+2". False when it is none of these. */
static bool parse_zone(const char *text, int64_t *offset)
{
    *offset = 0;
    text += strspn(text, " ");
    if (*text == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "UTC") == 0 || strcmp(text, "GMT") == 0)
        return true;
    if (*text != '+' && *text != '-')
        return false;
    const int sign = *text == '-' ? -1 : 1;
    int hours = 0, minutes = 0, used = 0;
    if (strchr(text, ':') != NULL ? sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) < 2
                                  : sscanf(text + 1, "%2d%n%2d%n", &hours, &used, &minutes, &used) < 1)
        return false;
    if (text[1 + used] != '\0')
        return false;
    *offset = sign * (hours * 3600 + minutes * 60);
    return true;
}

/* A date and a time as they are written, shortened or not. */
struct moment {
    struct date date;
    int date_parts, time_parts; /* how many of year, month and day, of hour, minute and second there are */
    int time[3];
    int64_t nanoseconds, step; /* step: of the last decimal of the second, 0 without decimals */
    bool is_exact;             /* each part has the digits that ISO 8601 wants: four or five, then two */
};

/* Reads a number of at most `most` digits; moves *text behind it. Returns how many there are. */
static int scan_number(const char **text, int most, int64_t *number)
{
    int n = 0;
    *number = 0;
    for (; n < most && (*text)[n] >= '0' && (*text)[n] <= '9'; n++)
        *number = *number * 10 + ((*text)[n] - '0');
    *text += n;
    return n;
}

/* Reads what follows `mark` as a part of two digits, or one. */
static bool scan_part(const char **text, char mark, int *part, bool *is_exact)
{
    int64_t number;
    const char *at = *text + 1;
    const int digits = **text == mark ? scan_number(&at, 2, &number) : 0;
    if (digits == 0)
        return false;
    *part = (int)number;
    *is_exact = *is_exact && digits == 2;
    *text = at;
    return true;
}

/* Reads the time of a day behind its date, if there is one; moves *text behind it. By hand: strtod() reads the locale's
 * decimal mark. */
static void scan_time(const char **text, struct moment *m)
{
    const char *at = *text + (**text == 'T' || **text == 't');
    int64_t number;
    at += strspn(at, " ");
    const bool has_mark = at == *text + 1;
    const int digits = at > *text ? scan_number(&at, 2, &number) : 0;
    if (digits == 0)
        return;
    m->is_exact = m->is_exact && digits == 2 && has_mark;
    m->time[m->time_parts++] = (int)number;
    while (m->time_parts < 3 && scan_part(&at, ':', &m->time[m->time_parts], &m->is_exact))
        m->time_parts++;
    if (m->time_parts == 3 && at[0] == '.' && at[1] >= '0' && at[1] <= '9') {
        int64_t unit = NANO / 10;
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10) {
            m->nanoseconds += unit * (*at - '0');
            m->step = unit > 0 ? unit : 1;
        }
    }
    *text = at;
}

/* Reads a date, and a time or none; moves *text behind them. False where there is no year. */
static bool scan_moment(const char **text, struct moment *m)
{
    *m = (struct moment){.date = {0, 1, 1}};
    const int sign = **text == '-' ? -1 : 1;
    *text += sign < 0;
    const int digits = scan_number(text, 6, &m->date.year);
    m->date.year *= sign;
    m->is_exact = digits == 4 || digits == 5;
    m->date_parts = digits > 0;
    if (digits > 0 && scan_part(text, '-', &m->date.month, &m->is_exact))
        m->date_parts += 1 + scan_part(text, '-', &m->date.day, &m->is_exact);
    if (digits > 0)
        scan_time(text, m);
    return digits > 0 && m->date.month >= 1 && m->date.month <= 12 && m->date.day >= 1 && m->date.day <= 31;
}

static int64_t seconds_of(enum zs_calendar calendar, const struct moment *m)
{
    return days_of(calendar, m->date) * SECONDS_PER_DAY + m->time[0] * 3600 + m->time[1] * 60 + m->time[2];
}

/* A date, a time or none, a zone or none, as an instant of the calendar. is_whole: the date has a month and a day. */
static bool parse_instant(enum zs_calendar calendar, const char *text, bool is_whole, struct zs_instant *instant)
{
    struct moment m;
    int64_t zone;
    text += strspn(text, " ");
    if (!scan_moment(&text, &m) || (is_whole && m.date_parts < 3) || m.time[0] > 24 || m.time[1] > 59 ||
        m.time[2] > 60 || !parse_zone(text, &zone))
        return false;
    *instant = (struct zs_instant){seconds_of(calendar, &m) - zone, m.nanoseconds};
    return true;
}

bool zs_cf_time_parse(const char *units, const char *calendar, struct zs_time_unit *unit)
{
    memset(unit, 0, sizeof *unit);
    const char *since = units != NULL ? strstr(units, " since ") : NULL;
    if (since == NULL || !calendar_of(calendar, &unit->calendar))
        return false;
    units += strspn(units, " ");
    if (units > since)
        return false;
    unit->nanoseconds = unit_length(units, (size_t)(since - units));
    return unit->nanoseconds != 0 && parse_instant(unit->calendar, since + 7, false, &unit->epoch);
}

bool zs_time_number(const struct zs_time_unit *unit, const char *text, char *number, size_t capacity)
{
    struct zs_instant at;
    if (unit->nanoseconds == 0 || !parse_instant(unit->calendar, text, true, &at))
        return false;
    int64_t nanoseconds = at.nanoseconds - unit->epoch.nanoseconds;
    const int64_t seconds = at.seconds - unit->epoch.seconds + floor_div(nanoseconds, NANO);
    nanoseconds -= floor_div(nanoseconds, NANO) * NANO;
    const double value = ((double)seconds * 1e9 + (double)nanoseconds) / (double)unit->nanoseconds;
    /* Whole where units are whole seconds and divide, or are parts of a second. */
    const int64_t length = unit->nanoseconds, per_second = length < NANO && NANO % length == 0 ? NANO / length : 0;
    if (fabs(value) < 9e18 && per_second != 0 && nanoseconds % length == 0)
        snprintf(number, capacity, "%lld", (long long)(seconds * per_second + nanoseconds / length));
    else if (length % NANO == 0 && nanoseconds == 0 && seconds % (length / NANO) == 0)
        snprintf(number, capacity, "%lld", (long long)(seconds / (length / NANO)));
    else
        CPLsnprintf(number, capacity, "%.17g", value);
    return true;
}

/* Units of datetime64, in months or nanoseconds, and as CF counts from numpy's epoch; `word` where CF has one of that
 * length. Parts of nanoseconds occur in no store. */
static const struct datetime_unit {
    const char *name, *since, *word;
    int64_t months, nanoseconds;
} datetime_units[] = {
    {"Y", "days since 1970-01-01", NULL, 12, 0},
    {"M", "days since 1970-01-01", NULL, 1, 0},
    {"W", "days since 1970-01-01", NULL, 0, 7 * SECONDS_PER_DAY * NANO},
    {"D", "days since 1970-01-01", "days", 0, SECONDS_PER_DAY * NANO},
    {"h", "hours since 1970-01-01", "hours", 0, 3600 * NANO},
    {"m", "minutes since 1970-01-01", "minutes", 0, 60 * NANO},
    {"s", "seconds since 1970-01-01", "seconds", 0, NANO},
    {"ms", "milliseconds since 1970-01-01", "milliseconds", 0, 1000000},
    {"us", "microseconds since 1970-01-01", "microseconds", 0, 1000},
    {"\xce\xbcs", "microseconds since 1970-01-01", "microseconds", 0, 1000}, /* a Greek mu, as the registry allows */
    {"ns", "nanoseconds since 1970-01-01", "nanoseconds", 0, 1},
};

static const struct datetime_unit *datetime_unit_of(const char *name)
{
    for (size_t i = 0; i < sizeof datetime_units / sizeof datetime_units[0]; i++)
        if (strcmp(name, datetime_units[i].name) == 0)
            return &datetime_units[i];
    return NULL;
}

bool zs_datetime_unit(const char *name, int64_t scale, struct zs_time_unit *unit)
{
    const struct datetime_unit *known = datetime_unit_of(name);
    *unit = (struct zs_time_unit){.calendar = ZS_CALENDAR_GREGORIAN};
    if (known == NULL || scale < 1 || scale > INT32_MAX /* numpy's own bound */ ||
        known->nanoseconds > INT64_MAX / scale)
        return false;
    unit->months = known->months * scale;
    unit->nanoseconds = known->nanoseconds * scale;
    return true;
}

const char *zs_time_units(const struct zs_dtype *dtype, bool is_text)
{
    const bool is_instant = dtype->type == ZS_DATETIME64;
    const struct datetime_unit *known =
        is_instant || dtype->type == ZS_TIMEDELTA64 ? datetime_unit_of(dtype->unit) : NULL;
    if (known == NULL || (!(is_instant && is_text) && (dtype->unit_scale != 1 || known->word == NULL)))
        return NULL;
    return is_instant ? known->since : known->word;
}

/* ---- Writing ---- */

/* Years that are printed; seconds beyond them are refused before they can overflow. */
#define MAX_SECONDS ((double)100000 * 366 * 86400)

bool zs_instant_print(enum zs_calendar calendar, struct zs_instant instant, char *out, size_t capacity)
{
    const int64_t seconds = instant.seconds, nanoseconds = instant.nanoseconds;
    const int64_t days = floor_div(seconds, SECONDS_PER_DAY);
    const int of_day = (int)(seconds - days * SECONDS_PER_DAY);
    const struct date d = date_of(calendar, days);
    if (d.year < -9999 || d.year > 99999)
        return false;
    char fraction[16] = "";
    if (nanoseconds != 0) {
        snprintf(fraction, sizeof fraction, ".%09d", (int)nanoseconds);
        for (size_t n = strlen(fraction); n > 0 && fraction[n - 1] == '0'; n--)
            fraction[n - 1] = '\0';
    }
    const int n = snprintf(out, capacity, "%s%04d-%02d-%02dT%02d:%02d:%02d%s", d.year < 0 ? "-" : "",
                           (int)(d.year < 0 ? -d.year : d.year), d.month, d.day, of_day / 3600, of_day / 60 % 60,
                           of_day % 60, fraction);
    return n > 0 && (size_t)n < capacity;
}

static struct zs_instant since_epoch(const struct zs_time_unit *unit, int64_t seconds, int64_t nanoseconds)
{
    nanoseconds += unit->epoch.nanoseconds;
    const int64_t more = floor_div(nanoseconds, NANO);
    return (struct zs_instant){seconds + unit->epoch.seconds + more, nanoseconds - more * NANO};
}

static bool months_since_epoch(const struct zs_time_unit *unit, int64_t count, struct zs_instant *instant)
{
    if (count > 2000000 || count < -2000000 || unit->months > 2000000)
        return false;
    const int64_t month = count * unit->months, year = floor_div(month, 12);
    const struct date d = {1970 + year, (int)(month - year * 12) + 1, 1};
    *instant = (struct zs_instant){days_of(ZS_CALENDAR_GREGORIAN, d) * SECONDS_PER_DAY, 0};
    return d.year >= -9999 && d.year <= 99999;
}

/* Whether so many units are more seconds than are printed. */
static bool is_beyond(const struct zs_time_unit *unit, double count)
{
    return !(fabs(count) * ((double)unit->nanoseconds / 1e9) <= MAX_SECONDS);
}

bool zs_time_instant_int(const struct zs_time_unit *unit, int64_t count, struct zs_instant *instant)
{
    if (unit->months != 0)
        return months_since_epoch(unit, count, instant);
    if (is_beyond(unit, (double)count))
        return false;
    /* count units = whole seconds and a rest; units that do not divide a second go through their parts. */
    const int64_t unit_seconds = unit->nanoseconds / NANO, unit_rest = unit->nanoseconds % NANO;
    const int64_t high = floor_div(count, NANO), low = count - high * NANO;
    /* high NANO unit_rest nanoseconds are high unit_rest seconds; low unit_rest fits: both are below 1e9. */
    const int64_t seconds = count * unit_seconds + high * unit_rest + low * unit_rest / NANO;
    *instant = since_epoch(unit, seconds, low * unit_rest % NANO);
    return true;
}

bool zs_time_instant_double(const struct zs_time_unit *unit, double count, struct zs_instant *instant)
{
    if (unit->months != 0)
        return fabs(count) < 2e6 && months_since_epoch(unit, (int64_t)floor(count), instant);
    if (is_beyond(unit, count))
        return false;
    if (count == floor(count) && fabs(count) < 9e15)
        return zs_time_instant_int(unit, (int64_t)count, instant);
    const double seconds = count * ((double)unit->nanoseconds / 1e9), whole = floor(seconds);
    /* A double of days since 1900 is exact to a microsecond only: more decimals would be noise. */
    const double micro = floor((seconds - whole) * 1e6 + 0.5);
    *instant = since_epoch(unit, (int64_t)whole, (int64_t)micro * 1000);
    return true;
}

int zs_instant_compare(struct zs_instant a, struct zs_instant b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds;
}

/* ---- Spans ---- */

static bool is_date(enum zs_calendar calendar, struct date d)
{
    const struct date same = date_of(calendar, days_of(calendar, d));
    return same.year == d.year && same.month == d.month && same.day == d.day;
}

bool zs_time_span(enum zs_calendar calendar, const char *text, struct zs_instant *from, struct zs_instant *to)
{
    static const int64_t lengths[] = {SECONDS_PER_DAY, 3600, 60, 1}; /* of what is given last */
    struct moment m;
    if (!scan_moment(&text, &m) || !m.is_exact || (m.time_parts > 0 && m.date_parts < 3))
        return false;
    text += m.date_parts == 3 && *text == 'Z';
    if (*text != '\0' || m.time[0] > 23 || m.time[1] > 59 || m.time[2] > 59 ||
        (m.date_parts == 3 && !is_date(calendar, m.date)))
        return false;
    *from = *to = (struct zs_instant){seconds_of(calendar, &m), m.nanoseconds};
    if (m.date_parts < 3) {
        const bool is_next_year = m.date_parts == 1 || m.date.month == 12;
        const struct date next = {m.date.year + is_next_year, is_next_year ? 1 : m.date.month + 1, 1};
        to->seconds = days_of(calendar, next) * SECONDS_PER_DAY;
    } else if (m.step == 0) {
        to->seconds += lengths[m.time_parts];
    } else {
        to->nanoseconds += m.step;
        to->seconds += to->nanoseconds / NANO;
        to->nanoseconds %= NANO;
    }
    return true;
}
