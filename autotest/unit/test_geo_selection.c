/* Elements of a dimension that are asked for by value. */
#include "check.h"
#include "geo/axes.h"
#include "geo/cf_time.h"
#include "geo_store.h"

static struct geo_store store;
static struct zs_error err;

/* An array of one dimension, `name`, of n elements, with its coordinate variable. */
static void start(const char *name, size_t n, const char *type, const char *attributes, const void *values, size_t size)
{
    close_store(&store);
    char *shape = zs_format("[%zu,2,2]", n), *names = zs_format("['%s','y','x']", name),
         *own = zs_format("[%zu]", n), *own_name = zs_format("['%s']", name), *key = zs_format("%s/c/0", name);
    put_group(&store, "", "{}");
    put_array(&store, "a", shape, names, "uint8", "0", "{}");
    if (type != NULL) {
        put_array(&store, name, own, own_name, type, "0", attributes);
        put(&store, key, values, n * size);
    }
    free(shape);
    free(names);
    free(own);
    free(own_name);
    free(key);
}

/* The element that is meant; -1, with the message in err, where none is. */
static long long value(const char *text)
{
    struct zs_selection c;
    const struct zs_node *a = (open_node(&store, ""), open_node(&store, "a"));
    err.message[0] = '\0';
    const enum zs_status status = zs_select_value(store.h, a, 0, text, &c, &err);
    CHECK(status == ZS_OK || status == ZS_ARGUMENT);
    CHECK(status != ZS_OK || (c.kind == ZS_SELECT_ONE && c.count == 1));
    return status == ZS_OK ? (long long)c.first : -1;
}

/* "first+count", or the message. */
static const char *range(const char *from, const char *to)
{
    static char text[64];
    struct zs_selection c;
    const struct zs_node *a = (open_node(&store, ""), open_node(&store, "a"));
    if (zs_select_range(store.h, a, 0, from, to, &c, &err) != ZS_OK)
        return err.message;
    CHECK(c.kind == ZS_SELECT_RANGE);
    snprintf(text, sizeof text, "%llu+%llu", (unsigned long long)c.first, (unsigned long long)c.count);
    return text;
}

static void test_shortened_time_selects_the_only_instant_in_it(void)
{
    const int64_t hours[] = {0, 6, 12, 18, 24, 48};
    start("time", 6, "int64", "{'units':'hours since 2026-05-01','calendar':'standard'}", hours, sizeof *hours);
    CHECK_EQ_I64(value("2026-05-01T06:00:00"), 1);
    CHECK_EQ_I64(value("2026-05-01T12"), 2);
    CHECK_EQ_I64(value("2026-05-01 18:00"), 3);
    CHECK_EQ_I64(value("2026-05-02"), 4);
    CHECK_EQ_I64(value("2026-05-03T00Z"), 5);
    CHECK_EQ_I64(value("2026-05-01"), -1);
    CHECK_CONTAINS(err.message, "time: 4 elements are 2026-05-01: 2026-05-01T00:00:00, 2026-05-01T06:00:00, 2026-05");
    CHECK_EQ_I64(value("2026-05"), -1);
    CHECK_CONTAINS(err.message, "6 elements");
    CHECK_EQ_I64(value("2026-05-02T05"), -1);
    CHECK_CONTAINS(err.message, "no element is 2026-05-02T05; the nearest are 2026-05-02T00:00:00 and 2026-05-01T18");
    const char *const no_times[] = {"6", "2026-13", "2026-02-30", "2026-05-01T24", "2026-5-1", "yesterday", "",
                                    "20260501", "2026-05-01T06:", "2026-05-01T06:00:00."};
    for (size_t i = 0; i < sizeof no_times / sizeof no_times[0]; i++) {
        CHECK_EQ_I64(value(no_times[i]), -1);
        CHECK_CONTAINS(err.message, "expected a time");
    }
}

static void test_exact_time_label_wins_over_shortened_matches(void)
{
    const int64_t milliseconds[] = {0, 500, 1000};
    start("time", 3, "int64", "{'units':'milliseconds since 2026-05-01'}", milliseconds, sizeof *milliseconds);
    CHECK_EQ_I64(value("2026-05-01T00:00:00"), 0);
    CHECK_EQ_I64(value("2026-05-01T00:00:00.5"), 1);
    CHECK_EQ_I64(value("2026-05-01T00:00"), -1);
    CHECK_EQ_I64(value("2026-05-01T00:00:01"), 2);
}

static void test_times_are_of_their_calendar(void)
{
    const double days[] = {0, 29, 30, 59};
    start("time", 4, "float64", "{'units':'days since 2000-01-01','calendar':'360_day'}", days, sizeof *days);
    CHECK_EQ_I64(value("2000-01-30"), 1);
    CHECK_EQ_I64(value("2000-02-30"), 3);
    CHECK_EQ_I64(value("2000-01-31"), -1);
    CHECK_CONTAINS(err.message, "expected a time");
    CHECK_EQ_STR(range("2000-02", "2000-02"), "2+2");
    start("time", 4, "float64", "{'units':'days since 2000-01-01','calendar':'noleap'}", days, sizeof *days);
    CHECK_EQ_I64(value("2000-02-29"), -1);
    CHECK_EQ_I64(value("2000-03-01"), 3);
}

static void test_numbers_compare_as_numbers(void)
{
    const float levels[] = {1000, 850, 0.1f, 0};
    start("level", 4, "float32", "{'units':'hPa'}", levels, sizeof *levels);
    CHECK_EQ_I64(value("850"), 1);
    CHECK_EQ_I64(value("8.5e2"), 1);
    CHECK_EQ_I64(value("0.1"), 2);
    CHECK_EQ_I64(value("0"), 3);
    CHECK_EQ_I64(value("0.1001"), -1);
    CHECK_CONTAINS(err.message, "level: no element is 0.1001; the nearest are 0.1 and 0");
    CHECK_EQ_I64(value("850 hPa"), -1);
    CHECK_CONTAINS(err.message, "expected a number");
    const int16_t packed[] = {1, 3, 7};
    start("depth", 3, "int16", "{'scale_factor':0.1,'add_offset':0}", packed, sizeof *packed);
    CHECK_EQ_I64(value("0.3"), 1);
    CHECK_EQ_I64(value("3"), -1);
}

static void test_ambiguous_selection_value_is_refused(void)
{
    const int64_t numbers[] = {5, 7, 5};
    start("n", 3, "int64", "{}", numbers, sizeof *numbers);
    CHECK_EQ_I64(value("7"), 1);
    CHECK_EQ_I64(value("5"), -1);
    CHECK_CONTAINS(err.message, "2 elements are 5: 5, 5; elements 0, 2");
}

static void test_without_coordinates_a_number_is_an_index(void)
{
    start("n", 3, NULL, NULL, NULL, 0);
    CHECK_EQ_I64(value("2"), 2);
    CHECK_EQ_I64(value("3"), -1);
    CHECK_CONTAINS(err.message, "n: index 3 is out of range: there are 3 elements");
    CHECK_EQ_I64(value("-1"), -1);
    CHECK_CONTAINS(err.message, "no coordinates");
}

static void test_absent_coordinate_values_are_not_taken_for_indices(void)
{
    const int64_t blank[] = {0, 0, 0};
    start("n", 3, "int64", "{}", blank, sizeof *blank);
    CHECK_EQ_I64(value("0"), -1);
    CHECK_CONTAINS(err.message, "cannot be read");
    CHECK_EQ_STR(range("1", "1"), "1+1");
}

static void test_ranges_are_of_indices_or_times_and_hold_both_ends(void)
{
    const int64_t hours[] = {0, 6, 24, 30, 48};
    start("time", 5, "int64", "{'units':'hours since 2026-05-01'}", hours, sizeof *hours);
    CHECK_EQ_STR(range("0", "4"), "0+5");
    CHECK_EQ_STR(range("3", "3"), "3+1");
    CHECK_EQ_STR(range("2026-05-01", "2026-05-02"), "0+4");
    CHECK_EQ_STR(range("2026-05-01T01", "2026-05-02T00"), "1+2");
    CHECK_EQ_STR(range("2026-05-02", NULL), "2+3");
    CHECK_EQ_STR(range(NULL, "2026-05-01"), "0+2");
    CHECK_EQ_STR(range(NULL, "2"), "0+3");
    CHECK_EQ_STR(range(NULL, NULL), "0+5");
}

static void test_ranges_that_hold_nothing_are_refused(void)
{
    const int64_t hours[] = {0, 6, 24, 30, 48}, mixed[] = {0, 24, 6, 30, 48};
    start("time", 5, "int64", "{'units':'hours since 2026-05-01'}", hours, sizeof *hours);
    CHECK_CONTAINS(range("3", "2"), "reversed");
    CHECK_CONTAINS(range("0", "5"), "index 5 is out of range");
    CHECK_CONTAINS(range("2026-05-02", "2026-05-01"), "reversed");
    CHECK_CONTAINS(range("2026-06-01", "2026-06-02"), "nothing lies between");
    CHECK_CONTAINS(range("-1", NULL), "expected indices");
    CHECK_CONTAINS(range("2026-05-02", "4"), "ends of one kind"); /* element 4, or hour 4? */
    CHECK_CONTAINS(range("2025", "2026-05-03"), "ends of one kind");
    CHECK_CONTAINS(range("a", "b"), "expected indices");
    start("time", 5, "int64", "{'units':'hours since 2026-05-01'}", mixed, sizeof *mixed);
    CHECK_CONTAINS(range("2026-05-01", "2026-05-02"), "not in increasing order (element 2)");
    const int64_t numbers[] = {5, 7, 9};
    start("n", 3, "int64", "{}", numbers, sizeof *numbers);
    CHECK_EQ_STR(range("0", "1"), "0+2");
    CHECK_CONTAINS(range("5", "7"), "out of range");
    CHECK_CONTAINS(range("5.0", "7.0"), "expected indices, times");
}

static void test_spans_of_shortened_times(void)
{
    static const struct {
        const char *text;
        int64_t from, length; /* of 1970; nanoseconds when below 1 s */
    } cases[] = {{"1970", 0, 365 * 86400}, {"1970-02", 31 * 86400, 28 * 86400}, {"1970-12", 334 * 86400, 31 * 86400},
                 {"1970-01-02", 86400, 86400}, {"1970-01-01T01", 3600, 3600}, {"1970-01-01T00:01", 60, 60},
                 {"1970-01-01T00:00:01", 1, 1}, {"1969-12-31", -86400, 86400}};
    struct zs_instant from, to;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (CHECK(zs_time_span(ZS_CALENDAR_GREGORIAN, cases[i].text, &from, &to))) {
            CHECK_EQ_I64(from.seconds, cases[i].from);
            CHECK_EQ_I64(to.seconds - from.seconds, cases[i].length);
            CHECK(from.nanoseconds == 0 && to.nanoseconds == 0);
        }
    CHECK(zs_time_span(ZS_CALENDAR_GREGORIAN, "1970-01-01T00:00:00.999", &from, &to));
    CHECK(from.nanoseconds == 999000000 && to.seconds == 1 && to.nanoseconds == 0);
    CHECK(zs_time_span(ZS_CALENDAR_GREGORIAN, "1970-01-01T00:00:00.000000001", &from, &to));
    CHECK(from.nanoseconds == 1 && to.nanoseconds == 2);
    CHECK(zs_time_span(ZS_CALENDAR_STANDARD, "1582-10-04", &from, &to));
    CHECK(!zs_time_span(ZS_CALENDAR_STANDARD, "1582-10-10", &from, &to));
    CHECK(zs_time_span(ZS_CALENDAR_JULIAN, "1900-02-29", &from, &to));
    CHECK(!zs_time_span(ZS_CALENDAR_GREGORIAN, "1900-02-29", &from, &to));
    CHECK(zs_time_span(ZS_CALENDAR_GREGORIAN, "-0044-03-15", &from, &to));
}

int main(void)
{
    RUN(test_shortened_time_selects_the_only_instant_in_it);
    RUN(test_exact_time_label_wins_over_shortened_matches);
    RUN(test_times_are_of_their_calendar);
    RUN(test_numbers_compare_as_numbers);
    RUN(test_ambiguous_selection_value_is_refused);
    RUN(test_without_coordinates_a_number_is_an_index);
    RUN(test_absent_coordinate_values_are_not_taken_for_indices);
    RUN(test_ranges_are_of_indices_or_times_and_hold_both_ends);
    RUN(test_ranges_that_hold_nothing_are_refused);
    RUN(test_spans_of_shortened_times);
    close_store(&store);
    return check_result();
}
