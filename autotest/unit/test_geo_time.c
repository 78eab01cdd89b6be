/* Instants of CF and datetime64 as text. Expected values follow from the calendars' rules. */
#include "check.h"
#include "geo/cf_time.h"

static const char *printed(const struct zs_time_unit *unit, bool is_instant, const zs_instant *at)
{
    static char text[64];
    return is_instant && zs_instant_print(unit->calendar, *at, text, sizeof text) ? text : "not printable";
}

static const char *cf(const char *units, const char *calendar, double count)
{
    struct zs_time_unit unit;
    zs_instant at;
    return zs_cf_time_parse(units, calendar, &unit) ? printed(&unit, zs_time_instant_double(&unit, count, &at), &at)
                                                    : "not a time";
}

static const char *np(const char *name, int64_t scale, int64_t count)
{
    struct zs_time_unit unit;
    zs_instant at;
    struct zs_dtype dtype = {.type = ZS_DATETIME64, .unit_scale = scale};
    snprintf(dtype.unit, sizeof dtype.unit, "%s", name);
    return zs_time_unit_find(&dtype, NULL, &unit) ? printed(&unit, zs_time_instant_int(&unit, count, &at), &at)
                                                  : "not a time";
}

TEST(test_units_since_a_date)
{
    CHECK_EQ_STR(cf("seconds since 1970-01-01", "proleptic_gregorian", 1714543200), "2024-05-01T06:00:00");
    CHECK_EQ_STR(cf("days since 1970-01-01 00:00:00", NULL, 0.25), "1970-01-01T06:00:00");
    CHECK_EQ_STR(cf("hours since 1900-01-01T00:00:00Z", "gregorian", 24), "1900-01-02T00:00:00");
    CHECK_EQ_STR(cf("Minutes since 2000-2-28 23:59", "standard", 1), "2000-02-29T00:00:00");
    CHECK_EQ_STR(cf("days since 2001-03-01", "standard", -1), "2001-02-28T00:00:00");
    CHECK_EQ_STR(cf("days since 2000", NULL, 59), "2000-02-29T00:00:00");
    CHECK_EQ_STR(cf("hours since 2000-03", NULL, 25), "2000-03-02T01:00:00");
    CHECK_EQ_STR(cf("hours since 2000-3 06:30 +01:00", NULL, 1), "2000-03-01T06:30:00");
    CHECK_EQ_STR(cf("days since 20000301", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("days since 2000-", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("milliseconds since 2020-01-01", "standard", 1500), "2020-01-01T00:00:01.5");
    CHECK_EQ_STR(cf("seconds since 2020-01-01 00:00:00.25", "standard", 1), "2020-01-01T00:00:01.25");
    CHECK_EQ_STR(cf("seconds since 2020-01-01 02:00:00 +02:00", "standard", 0), "2020-01-01T00:00:00");
    CHECK_EQ_STR(cf("seconds since 2020-01-01 00:00 -5", "standard", 0), "2020-01-01T05:00:00");
    CHECK_EQ_STR(cf("nanoseconds since 2020-01-01", "standard", 1), "2020-01-01T00:00:00.000000001");
}

TEST(test_calendars)
{
    CHECK_EQ_STR(cf("days since 2001-02-28", "NoLeap", 1), "2001-03-01T00:00:00");
    CHECK_EQ_STR(cf("days since 2001-02-28", "Gregorian", 1), "2001-03-01T00:00:00");
    CHECK_EQ_STR(cf("days since 2000-02-28", "noleap", 1), "2000-03-01T00:00:00");
    CHECK_EQ_STR(cf("days since 2001-02-28", "all_leap", 1), "2001-02-29T00:00:00");
    CHECK_EQ_STR(cf("days since 2000-01-01", "360_day", 59), "2000-02-30T00:00:00");
    CHECK_EQ_STR(cf("days since 2000-01-01", "365_day", -1), "1999-12-31T00:00:00");
    /* The mixed calendar goes from 1582-10-04 to 1582-10-15. */
    CHECK_EQ_STR(cf("days since 1582-10-15", "standard", -1), "1582-10-04T00:00:00");
    CHECK_EQ_STR(cf("days since 1582-10-15", "proleptic_gregorian", -1), "1582-10-14T00:00:00");
    CHECK_EQ_STR(cf("days since 1582-10-04", "standard", 1), "1582-10-15T00:00:00");
    CHECK_EQ_STR(cf("days since 0001-01-01", "julian", 366), "0002-01-02T00:00:00");
    /* Julian day 2378862 less that of 0001-01-01, 1721424: as many ocean reanalyses count. */
    CHECK_EQ_STR(cf("days since 1-1-1 00:00:00", "standard", 657438), "1801-01-01T00:00:00");
}

TEST(test_invalid_time_units_are_refused)
{
    CHECK_EQ_STR(cf("seconds", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("m", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("months since 2000-01-01", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("days since yesterday", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("days since 2000-13-01", NULL, 1), "not a time");
    CHECK_EQ_STR(cf("days since 2000-01-01", "martian", 1), "not a time");
    CHECK_EQ_STR(cf("days since 2000-01-01", NULL, 1e300), "not printable");
    CHECK_EQ_STR(np("generic", 1, 1), "not a time");
}

TEST(test_datetime64)
{
    CHECK_EQ_STR(np("Y", 1, 54), "2024-01-01T00:00:00");
    CHECK_EQ_STR(np("M", 1, -1), "1969-12-01T00:00:00");
    CHECK_EQ_STR(np("W", 1, 1), "1970-01-08T00:00:00");
    CHECK_EQ_STR(np("D", 1, 19844), "2024-05-01T00:00:00");
    CHECK_EQ_STR(np("h", 6, 1), "1970-01-01T06:00:00");
    CHECK_EQ_STR(np("m", 1, -1), "1969-12-31T23:59:00");
    CHECK_EQ_STR(np("ms", 1, -1), "1969-12-31T23:59:59.999");
    CHECK_EQ_STR(np("us", 1, 1714543200000001), "2024-05-01T06:00:00.000001");
    CHECK_EQ_STR(np("ns", 1, 1714543200123456789), "2024-05-01T06:00:00.123456789");
    CHECK_EQ_STR(np("ns", 3, INT64_MAX / 3), "2262-04-11T23:47:16.854775806");
    CHECK_EQ_STR(np("s", 1, INT64_MAX), "not printable");
    CHECK_EQ_STR(np("Y", 1, INT64_MAX), "not printable");
}

/* Back from what is printed. */
static const char *back(const char *units, const char *calendar, const char *text)
{
    static char number[32];
    struct zs_time_unit unit;
    return CHECK(zs_cf_time_parse(units, calendar, &unit)) && zs_time_number(&unit, text, number, sizeof number)
               ? number : "no instant";
}

TEST(test_instants_are_counted_as_they_were_printed)
{
    static const char *const calendars[] = {"standard", "proleptic_gregorian", "julian", "noleap", "all_leap",
                                            "360_day"};
    static const char *const units[] = {"seconds since 1970-01-01",         "days since 0001-01-01",
                                        "hours since 1900-01-01T06:30:00Z", "milliseconds since 2020-01-01 00:00:00.25",
                                        "nanoseconds since 2020-02-28",     "weeks since 1999-12-31"};
    char expected[32];
    for (size_t c = 0; c < 6; c++)
        for (size_t u = 0; u < 6; u++)
            for (int64_t count = -70000; count <= 70000; count += 9999) {
                snprintf(expected, sizeof expected, "%lld", (long long)count);
                CHECK_EQ_STR(back(units[u], calendars[c], cf(units[u], calendars[c], (double)count)), expected);
            }
}

TEST(test_instants_between_whole_units)
{
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "2024-05-01T08:00:00"), "0.33333333333333331");
    CHECK_EQ_STR(back("hours since 2024-05-01", NULL, "2024-04-30T23:30:00"), "-0.5");
    CHECK_EQ_STR(back("microseconds since 2024-05-01", NULL, "2024-05-01T00:00:00.0000005"), "0.5");
    /* beyond 64 bits */
    CHECK_CONTAINS(back("nanoseconds since 1970-01-01", NULL, "9999-01-01T00:00:00"), "e+20");
    /* as others write them */
    CHECK_EQ_STR(back("hours since 2024-05-01", NULL, "2024-05-01T06:00:00+01:00"), "5");
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "  2024-05-02 UTC"), "1");
    CHECK_EQ_STR(back("days since 850-01-01", NULL, "850-01-03"), "2");
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "2024-02-30"), "no instant");
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "7"), "no instant");
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "2024-06"), "no instant"); /* one value is asked for, no month */
    CHECK_EQ_STR(back("days since 2024-05-01", NULL, "2024-05-01T00:00:00 noon"), "no instant");
}
