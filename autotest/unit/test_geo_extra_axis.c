/* Coordinate variables made of texts, as metadata of bands have them. */
#include <stdlib.h>

#include "check.h"
#include "geo/axes.h"

#define MAX 4

/* The elements as doubles; the number of them, or 0 where they are none. */
static size_t parse(const char *const *texts, char *const *attributes, enum zs_data_type *type, double *values)
{
    size_t n = 0;
    void *elements = NULL;
    struct zs_error err;
    while (n < MAX && texts[n] != NULL)
        n++;
    const enum zs_status status = zs_extra_axis_parse(texts, n, attributes, type, &elements, &err);
    if (status != ZS_OK) {
        CHECK(status == ZS_INVALID && err.message[0] != '\0');
        return 0;
    }
    const struct zs_dtype dtype = zs_dtype_of(*type);
    for (size_t i = 0; i < n; i++)
        values[i] = zs_dtype_to_double(&dtype, (const unsigned char *)elements + i * dtype.size);
    free(elements);
    return n;
}

static void test_whole_numbers_are_int64_and_others_float64(void)
{
    enum zs_data_type type;
    double v[MAX];
    CHECK_EQ_U64(parse((const char *const[MAX]){"3", "-9007199254740993"}, NULL, &type, v), 2);
    CHECK(type == ZS_INT64 && v[0] == 3 && v[1] < -9e15);
    CHECK_EQ_U64(parse((const char *const[MAX]){"3", "0.1", "1e300"}, NULL, &type, v), 3);
    CHECK(type == ZS_FLOAT64 && v[1] == 0.1 && v[2] == 1e300);
}

static void test_declared_type_is_used_when_it_holds_the_values(void)
{
    enum zs_data_type type;
    double v[MAX];
    char single[] = "data_type=float32", small[] = "data_type=int16", text[] = "data_type=string";
    CHECK_EQ_U64(parse((const char *const[MAX]){"0.1", "2"}, (char *const[]){single, NULL}, &type, v), 2);
    CHECK(type == ZS_FLOAT32 && v[0] == (double)0.1f);
    CHECK_EQ_U64(parse((const char *const[MAX]){"1", "70000"}, (char *const[]){small, NULL}, &type, v), 2);
    CHECK(type == ZS_INT64 && v[1] == 70000);
    CHECK_EQ_U64(parse((const char *const[MAX]){"1"}, (char *const[]){text, NULL}, &type, v), 1);
    CHECK(type == ZS_INT64);
}

static void test_instants_are_counted_by_the_units(void)
{
    enum zs_data_type type;
    double v[MAX];
    char units[] = "units=days since 2000-02-28", calendar[] = "calendar=noleap", metres[] = "units=m";
    const char *const texts[MAX] = {"2000-03-01T00:00:00", "5"};
    CHECK_EQ_U64(parse(texts, (char *const[]){units, NULL}, &type, v), 2);
    CHECK(type == ZS_INT64 && v[0] == 2 && v[1] == 5);
    CHECK_EQ_U64(parse(texts, (char *const[]){calendar, units, NULL}, &type, v), 2);
    CHECK(type == ZS_INT64 && v[0] == 1);
    CHECK_EQ_U64(parse((const char *const[MAX]){"2000-02-28T12:00:00"}, (char *const[]){units, NULL}, &type, v), 1);
    CHECK(type == ZS_FLOAT64 && v[0] == 0.5);
    CHECK_EQ_U64(parse(texts, (char *const[]){metres, NULL}, &type, v), 0);
}

static void test_metadata_items_that_are_no_coordinate(void)
{
    enum zs_data_type type;
    double v[MAX];
    char packed[] = "scale_factor=0.1";
    static const char *const wrong[] = {"",     "a",     "B02", "[1]",  "{}",  "null",
                                        "true", "\"1\"", "1 2", "0x10", "1,2", "--1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_EQ_U64(parse((const char *const[MAX]){"1", wrong[i]}, NULL, &type, v), 0);
    CHECK_EQ_U64(parse((const char *const[MAX]){"1"}, (char *const[]){packed, NULL}, &type, v), 0);
}

static void test_attributes_of_other_variables_are_left_out(void)
{
    char units[] = "units=hPa", bounds[] = "bounds=level_bnds", type[] = "data_type=float32", own[] = "_Netcdf4Dimid=0",
         odd[] = "nothing", equals[] = "comment=a=b";
    char *const attributes[] = {units, bounds, type, own, odd, equals, NULL};
    const struct zs_extra_axis axis = {.name = "level", .size = 1, .attributes = attributes};
    zs_json *json = zs_json_new_object();
    struct zs_error err;
    CHECK(zs_write_extra_axis(json, &axis, &err) == ZS_OK);
    char *text = zs_json_print(json);
    CHECK_EQ_STR(text, "{\"units\":\"hPa\",\"comment\":\"a=b\"}");
    free(text);
    zs_json_free(json);
}

int main(void)
{
    RUN(test_whole_numbers_are_int64_and_others_float64);
    RUN(test_declared_type_is_used_when_it_holds_the_values);
    RUN(test_instants_are_counted_by_the_units);
    RUN(test_metadata_items_that_are_no_coordinate);
    RUN(test_attributes_of_other_variables_are_left_out);
    return check_result();
}
