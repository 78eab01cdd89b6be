#include "geo/cf_time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "geo/scope.h"

#define SECONDS_PER_DAY ((int64_t)86400)
#define NANO ((int64_t)1000000000)

struct date {
    int64_t year;
    int month, day;
};

/* ---- Days of each calendar, counted from its 1970-01-01 ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar, in years that begin in March so that the leap day is last
 * (H. Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t gregorian_days(struct date d)
{
    const int64_t year = d.year - (d.month <= 2);
    const int64_t era = floor_div(year, 400), of_era = year - era * 400;
    const int64_t of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static struct date gregorian_date(int64_t days)
{
    days += 719468;
    const int64_t era = floor_div(days, 146097), of_era = days - era * 146097;
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    const int64_t m = (5 * of_year + 2) / 153;
    const int month = (int)(m < 10 ? m + 3 : m - 9);
    return (struct date){year + era * 400 + (month <= 2), month, (int)(of_year - (153 * m + 2) / 5 + 1)};
}

/* The same day count for dates of the Julian calendar: its 1970-01-01 is 13 days after the Gregorian one. */
static int64_t julian_days(struct date d)
{
    const int64_t year = d.year - (d.month <= 2);
    const int64_t era = floor_div(year, 4), of_era = year - era * 4;
    const int64_t of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
    return era * 1461 + of_era * 365 + of_year - 719470;
}

static struct date julian_date(int64_t days)
{
    days += 719470;
    const int64_t era = floor_div(days, 1461), of_era = days - era * 1461;
    const int64_t year = (of_era - of_era / 1460) / 365, of_year = of_era - 365 * year;
    const int64_t m = (5 * of_year + 2) / 153;
    const int month = (int)(m < 10 ? m + 3 : m - 9);
    return (struct date){year + era * 4 + (month <= 2), month, (int)(of_year - (153 * m + 2) / 5 + 1)};
}

/* Years of one length: 365, 366 or 360 days. */
static const int *month_ends(enum zs_calendar calendar)
{
    static const int noleap[13] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    static const int all_leap[13] = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366};
    static const int thirty[13] = {0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 360};
    return calendar == ZS_CALENDAR_NOLEAP ? noleap : calendar == ZS_CALENDAR_ALL_LEAP ? all_leap : thirty;
}

/* First day of the Gregorian calendar in the mixed one, 1582-10-15. */
#define SWITCH_DAY ((int64_t)-141427)

static int64_t days_of(enum zs_calendar calendar, struct date d)
{
    switch (calendar) {
    case ZS_CALENDAR_GREGORIAN:
        return gregorian_days(d);
    case ZS_CALENDAR_JULIAN:
        return julian_days(d);
    case ZS_CALENDAR_STANDARD:
        return gregorian_days(d) >= SWITCH_DAY ? gregorian_days(d) : julian_days(d);
    case ZS_CALENDAR_NOLEAP:
    case ZS_CALENDAR_ALL_LEAP:
    case ZS_CALENDAR_360_DAY:
        break;
    }
    const int *ends = month_ends(calendar);
    return (d.year - 1970) * ends[12] + ends[d.month - 1] + d.day - 1;
}

static struct date date_of(enum zs_calendar calendar, int64_t days)
{
    if (calendar == ZS_CALENDAR_GREGORIAN || (calendar == ZS_CALENDAR_STANDARD && days >= SWITCH_DAY))
        return gregorian_date(days);
    if (calendar == ZS_CALENDAR_JULIAN || calendar == ZS_CALENDAR_STANDARD)
        return julian_date(days);
    const int *ends = month_ends(calendar);
    const int64_t year = floor_div(days, ends[12]);
    const int of_year = (int)(days - year * ends[12]);
    int month = 1;
    while (ends[month] <= of_year)
        month++;
    return (struct date){1970 + year, month, of_year - ends[month - 1] + 1};
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
    char lower[24];
    if (n >= sizeof lower)
        return 0;
    for (size_t i = 0; i < n; i++)
        lower[i] = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] + 32) : word[i];
    lower[n] = '\0';
    for (int plural = 0; plural < 2; plural++) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(lower, known[i].name) == 0)
                return known[i].length;
        if (n > 2 && lower[n - 1] == 's')
            lower[n - 1] = '\0';
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

/* Decimals of a second after its point, as nanoseconds; moves *text behind them. By hand: strtod() reads the locale's
 * decimal mark. */
static int64_t parse_fraction(const char **text)
{
    int64_t nanoseconds = 0, unit = NANO / 10;
    for (; **text >= '0' && **text <= '9'; ++*text, unit /= 10)
        nanoseconds += unit * (**text - '0');
    return nanoseconds;
}

/* A date, a time or none, a zone or none, as an instant of the calendar. is_whole: the date has a month and a day. */
static bool parse_instant(enum zs_calendar calendar, const char *text, bool is_whole, int64_t *seconds,
                          int64_t *nanoseconds)
{
    text += strspn(text, " ");
    int year, month = 1, day = 1, hour = 0, minute = 0, second = 0, used = 0;
    *nanoseconds = 0;
    const int fields = sscanf(text, "%6d%n-%2d%n-%2d%n", &year, &used, &month, &used, &day, &used);
    text += used;
    if (fields < 1 || (fields < 3 && (is_whole || strchr(" Tt", *text) == NULL))) /* its end is one of these, too */
        return false;
    text += *text == 'T' || *text == 't';
    text += strspn(text, " ");
    if (*text >= '0' && *text <= '9') {
        used = 0;
        const int n = sscanf(text, "%2d%n:%2d%n", &hour, &used, &minute, &used);
        text += used;
        if (n == 2 && *text == ':') {
            used = 0;
            if (sscanf(text + 1, "%2d%n", &second, &used) < 1)
                return false;
            text += 1 + used;
            if (*text == '.') {
                text++;
                *nanoseconds = parse_fraction(&text);
            }
        }
    }
    int64_t zone;
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 ||
        !parse_zone(text, &zone))
        return false;
    *seconds = days_of(calendar, (struct date){year, month, day}) * SECONDS_PER_DAY + hour * 3600 + minute * 60 +
               second - zone;
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
    unit->seconds = (double)unit->nanoseconds / 1e9;
    return unit->nanoseconds != 0 &&
           parse_instant(unit->calendar, since + 7, false, &unit->epoch, &unit->epoch_nanoseconds);
}

bool zs_time_count(const struct zs_time_unit *unit, const char *text, int64_t *count, double *value)
{
    int64_t seconds, nanoseconds;
    if (unit->nanoseconds == 0 || !parse_instant(unit->calendar, text, true, &seconds, &nanoseconds))
        return false;
    seconds -= unit->epoch;
    nanoseconds -= unit->epoch_nanoseconds;
    seconds += floor_div(nanoseconds, NANO);
    nanoseconds -= floor_div(nanoseconds, NANO) * NANO;
    *value = ((double)seconds * 1e9 + (double)nanoseconds) / (double)unit->nanoseconds;
    /* Whole where units are whole seconds and divide, or are parts of a second. */
    const int64_t length = unit->nanoseconds, per_second = length < NANO && NANO % length == 0 ? NANO / length : 0;
    bool is_whole = fabs(*value) < 9e18;
    if (is_whole && per_second != 0)
        is_whole = nanoseconds % length == 0;
    else if (is_whole)
        is_whole = length % NANO == 0 && nanoseconds == 0 && seconds % (length / NANO) == 0;
    *count = INT64_MIN;
    if (is_whole) {
        *count = per_second != 0 ? seconds * per_second + nanoseconds / length : seconds / (length / NANO);
        *value = (double)*count;
    }
    return true;
}

bool zs_datetime_unit(const char *name, int64_t scale, struct zs_time_unit *unit)
{
    static const struct {
        const char *name;
        int64_t months, nanoseconds;
        double seconds;
    } known[] = {
        {"Y", 12, 0, 0},
        {"M", 1, 0, 0},
        {"W", 0, 7 * SECONDS_PER_DAY * NANO, 7 * 86400.0},
        {"D", 0, SECONDS_PER_DAY * NANO, 86400.0},
        {"h", 0, 3600 * NANO, 3600.0},
        {"m", 0, 60 * NANO, 60.0},
        {"s", 0, NANO, 1.0},
        {"ms", 0, 1000000, 1e-3},
        {"us", 0, 1000, 1e-6},
        {"\xce\xbcs", 0, 1000, 1e-6}, /* with a Greek mu, as the extension registry allows */
        {"ns", 0, 1, 1e-9},
        {"ps", 0, 0, 1e-12},
        {"fs", 0, 0, 1e-15},
        {"as", 0, 0, 1e-18},
    };
    memset(unit, 0, sizeof *unit);
    if (scale < 1 || scale > INT32_MAX) /* numpy's own bound */
        return false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        unit->calendar = ZS_CALENDAR_GREGORIAN;
        unit->months = known[i].months * scale;
        unit->seconds = known[i].seconds * (double)scale;
        if (known[i].nanoseconds <= INT64_MAX / scale)
            unit->nanoseconds = known[i].nanoseconds * scale;
        return true;
    }
    return false;
}

/* ---- Writing ---- */

/* Years that are printed; seconds beyond them are refused before they can overflow. */
#define MAX_SECONDS ((double)100000 * 366 * 86400)

static bool print(enum zs_calendar calendar, int64_t seconds, int64_t nanoseconds, char *out, size_t capacity)
{
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

static bool since_epoch(const struct zs_time_unit *unit, int64_t seconds, int64_t nanoseconds,
                        struct zs_instant *instant)
{
    if (fabs((double)seconds) > MAX_SECONDS)
        return false;
    nanoseconds += unit->epoch_nanoseconds;
    instant->seconds = seconds + unit->epoch + floor_div(nanoseconds, NANO);
    instant->nanoseconds = nanoseconds - floor_div(nanoseconds, NANO) * NANO;
    return true;
}

static bool months_since_epoch(const struct zs_time_unit *unit, int64_t count, struct zs_instant *instant)
{
    if (count > 2000000 || count < -2000000 || unit->months > 2000000)
        return false;
    const int64_t month = count * unit->months, year = floor_div(month, 12);
    const struct date d = {1970 + year, (int)(month - year * 12) + 1, 1};
    *instant = (struct zs_instant){gregorian_days(d) * SECONDS_PER_DAY, 0};
    return d.year >= -9999 && d.year <= 99999;
}

bool zs_time_instant_int(const struct zs_time_unit *unit, int64_t count, struct zs_instant *instant)
{
    if (unit->months != 0)
        return months_since_epoch(unit, count, instant);
    if (unit->nanoseconds == 0)
        return zs_time_instant_double(unit, (double)count, instant);
    if (fabs((double)count) * unit->seconds > MAX_SECONDS)
        return false;
    if (unit->nanoseconds % NANO == 0)
        return since_epoch(unit, count * (unit->nanoseconds / NANO), 0, instant);
    /* count units = whole seconds and a rest; units that do not divide a second go through their parts. */
    const int64_t unit_seconds = unit->nanoseconds / NANO, unit_rest = unit->nanoseconds % NANO;
    const int64_t high = floor_div(count, NANO), low = count - high * NANO;
    /* high NANO unit_rest nanoseconds are high unit_rest seconds; low unit_rest fits: both are below 1e9. */
    const int64_t seconds = count * unit_seconds + high * unit_rest + low * unit_rest / NANO;
    return since_epoch(unit, seconds, low * unit_rest % NANO, instant);
}

bool zs_time_instant_double(const struct zs_time_unit *unit, double count, struct zs_instant *instant)
{
    if (unit->months != 0)
        return fabs(count) < 2e6 && months_since_epoch(unit, (int64_t)floor(count), instant);
    if (!isfinite(count) || fabs(count) * unit->seconds > MAX_SECONDS)
        return false;
    if (unit->nanoseconds != 0 && count == floor(count) && fabs(count) < 9e15)
        return zs_time_instant_int(unit, (int64_t)count, instant);
    const double seconds = count * unit->seconds, whole = floor(seconds);
    /* A double of days since 1900 is exact to a microsecond only: more decimals would be noise. */
    double micro = floor((seconds - whole) * 1e6 + 0.5);
    return since_epoch(unit, (int64_t)whole, (int64_t)micro * 1000, instant);
}

int zs_instant_compare(struct zs_instant a, struct zs_instant b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return a.nanoseconds < b.nanoseconds ? -1 : a.nanoseconds > b.nanoseconds;
}

bool zs_time_print_int(const struct zs_time_unit *unit, int64_t count, char *out, size_t capacity)
{
    struct zs_instant i;
    return zs_time_instant_int(unit, count, &i) && print(unit->calendar, i.seconds, i.nanoseconds, out, capacity);
}

bool zs_time_print_double(const struct zs_time_unit *unit, double count, char *out, size_t capacity)
{
    struct zs_instant i;
    return zs_time_instant_double(unit, count, &i) && print(unit->calendar, i.seconds, i.nanoseconds, out, capacity);
}

/* ---- Spans ---- */

/* A number of `digits` digits behind `mark`, which may be one of several characters; moves *text behind it. */
static bool parse_part(const char **text, const char *marks, int digits, int *value)
{
    const char *at = *text;
    if (*at == '\0' || strchr(marks, *at) == NULL)
        return false;
    *value = 0;
    for (int i = 1; i <= digits; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        *value = *value * 10 + (at[i] - '0');
    }
    *text = at + 1 + digits;
    return true;
}

/* Four digits or five, as they are printed. */
static bool parse_year(const char **text, int64_t *year)
{
    const int sign = **text == '-' ? -1 : 1;
    *text += sign < 0;
    const size_t digits = strspn(*text, "0123456789");
    *year = 0;
    for (size_t i = 0; i < digits && digits <= 5; i++)
        *year = *year * 10 + (*(*text)++ - '0');
    *year *= sign;
    return digits == 4 || digits == 5;
}

static bool is_date(enum zs_calendar calendar, struct date d)
{
    const struct date same = date_of(calendar, days_of(calendar, d));
    return same.year == d.year && same.month == d.month && same.day == d.day;
}

bool zs_time_span(enum zs_calendar calendar, const char *text, struct zs_instant *from, struct zs_instant *to)
{
    static const int64_t lengths[] = {SECONDS_PER_DAY, 3600, 60, 1}; /* of what is given last */
    struct date d = {0, 1, 1};
    int part[3] = {0, 0, 0}, parts = 0;
    if (!parse_year(&text, &d.year))
        return false;
    const bool has_month = parse_part(&text, "-", 2, &d.month);
    const bool has_day = has_month && parse_part(&text, "-", 2, &d.day);
    while (has_day && parts < 3 && parse_part(&text, parts == 0 ? "Tt " : ":", 2, &part[parts]))
        parts++;
    int64_t nanoseconds = 0, step = 0;
    if (parts == 3 && *text == '.' && text[1] >= '0' && text[1] <= '9') {
        const char *point = text++;
        nanoseconds = parse_fraction(&text);
        step = NANO;
        for (ptrdiff_t i = 1; i < text - point; i++)
            step = step > 1 ? step / 10 : 1;
    }
    text += has_day && *text == 'Z';
    if (*text != '\0' || d.month < 1 || d.month > 12 || d.day < 1 || d.day > 31 || part[0] > 23 || part[1] > 59 ||
        part[2] > 59 || (has_day && !is_date(calendar, d)))
        return false;
    from->seconds = days_of(calendar, d) * SECONDS_PER_DAY + part[0] * 3600 + part[1] * 60 + part[2];
    from->nanoseconds = nanoseconds;
    *to = *from;
    if (!has_day) {
        const struct date next = {d.year + (!has_month || d.month == 12), has_month ? d.month % 12 + 1 : 1, 1};
        to->seconds = days_of(calendar, next) * SECONDS_PER_DAY;
    } else if (step == 0) {
        to->seconds += lengths[parts];
    } else {
        to->nanoseconds += step;
        to->seconds += to->nanoseconds / NANO;
        to->nanoseconds %= NANO;
    }
    return true;
}
