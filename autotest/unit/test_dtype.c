/* Data types, and fill values in every encoding of the specification. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "zarr/dtype.h"

static enum zs_status parse_type(const char *json, struct zs_dtype *dtype, struct zs_error *err)
{
    zs_json *root = NULL;
    CHECK(zs_json_parse(json, strlen(json), &root, NULL) == ZS_OK);
    const enum zs_status status = zs_dtype_parse(root, dtype, err);
    zs_json_free(root);
    return status;
}

static struct zs_dtype type_named(const char *name)
{
    char json[64];
    struct zs_dtype dtype = {0};
    struct zs_error err = {0};
    (void)snprintf(json, sizeof json, "\"%s\"", name);
    if (!CHECK(parse_type(json, &dtype, &err) == ZS_OK))
        fprintf(stderr, "%s: %s\n", name, err.message);
    return dtype;
}

static void check_type_refused(const char *json, enum zs_status expected, const char *part)
{
    struct zs_dtype dtype = {.size = 77};
    struct zs_error err = {0};
    if (!CHECK(parse_type(json, &dtype, &err) == expected))
        fprintf(stderr, "%s\n", json);
    CHECK_CONTAINS(err.message, part);
    CHECK_EQ_U64(dtype.size, 77);
}

/* The value for a fill value's JSON, as bits. */
static void check_fill(const char *type, const char *json, const void *expected)
{
    const struct zs_dtype dtype = type_named(type);
    struct zs_error err = {0};
    unsigned char value[ZS_MAX_ITEM_SIZE];
    bool was_null = true;
    zs_json *root = NULL;
    CHECK(zs_json_parse(json, strlen(json), &root, NULL) == ZS_OK);
    memset(value, 0xa5, sizeof value);
    if (!CHECK(zs_fill_value_parse(&dtype, root, value, &was_null, &err) == ZS_OK))
        fprintf(stderr, "%s %s: %s\n", type, json, err.message);
    else if (!CHECK_EQ_MEM(value, expected, dtype.size))
        fprintf(stderr, "%s %s\n", type, json);
    CHECK(!was_null);
    for (size_t i = dtype.size; i < sizeof value; i++)
        CHECK_EQ_U64(value[i], 0xa5);
    zs_json_free(root);
}

static void check_fill_refused(const char *type, const char *json)
{
    const struct zs_dtype dtype = type_named(type);
    struct zs_error err = {0};
    unsigned char value[ZS_MAX_ITEM_SIZE];
    zs_json *root = NULL;
    CHECK(zs_json_parse(json, strlen(json), &root, NULL) == ZS_OK);
    if (!CHECK(zs_fill_value_parse(&dtype, root, value, NULL, &err) == ZS_INVALID))
        fprintf(stderr, "%s %s was accepted\n", type, json);
    CHECK_CONTAINS(err.message, "fill_value of ");
    CHECK_CONTAINS(err.message, type);
    CHECK(zs_fill_value_parse(&dtype, root, value, NULL, NULL) == ZS_INVALID);
    zs_json_free(root);
}

#define BITS16(x) (&(const uint16_t){(x)})
#define BITS32(x) (&(const uint32_t){(x)})
#define BITS64(x) (&(const uint64_t){(x)})
#define F32(x) (&(const float){(x)})
#define F64(x) (&(const double){(x)})

TEST(test_datetime_types_have_unit_and_scale)
{
    struct zs_dtype d = type_named("numpy.datetime64");
    CHECK_EQ_STR(d.unit, "generic");
    CHECK_EQ_STR(type_named("int64").unit, "");
    CHECK(parse_type("{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"ns\",\"scale_factor\":10}}", &d,
                     NULL) == ZS_OK);
    CHECK(d.type == ZS_DATETIME64 && d.unit_scale == 10);
    CHECK_EQ_STR(d.unit, "ns");
    CHECK_EQ_STR(d.name, "numpy.datetime64");
    CHECK(parse_type("{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"\\u03bcs\"}}", &d, NULL) == ZS_OK);
    CHECK(d.type == ZS_TIMEDELTA64 && d.unit_scale == 1);
    CHECK_EQ_STR(d.unit, "us");
    check_type_refused("{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"fortnight\"}}", ZS_INVALID,
                       "fortnight");
    check_type_refused("{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":3}}", ZS_INVALID, "unit");
    check_type_refused("{\"name\":\"numpy.datetime64\",\"configuration\":{\"scale_factor\":0}}", ZS_INVALID,
                       "scale_factor");
    check_type_refused("{\"name\":\"numpy.datetime64\",\"configuration\":{\"scale_factor\":1.5}}", ZS_INVALID,
                       "scale_factor");
    check_type_refused("{\"name\":\"numpy.datetime64\",\"configuration\":[]}", ZS_INVALID, "configuration");
}

TEST(test_integer_fill_values_are_exact)
{
    check_fill("int8", "-128", "\x80");
    check_fill("uint8", "255", "\xff");
    check_fill("uint8", "0.0", "\x00");
    check_fill("int16", "-32768", BITS16(0x8000));
    check_fill("uint16", "65535", BITS16(0xffff));
    check_fill("uint16", "1e3", BITS16(1000));
    check_fill("int32", "-9999.0", BITS32((uint32_t)-9999));
    check_fill("uint32", "4294967295", BITS32(UINT32_MAX));
    check_fill("int64", "-9223372036854775808", BITS64(UINT64_C(1) << 63));
    check_fill("int64", "9007199254740993", BITS64(UINT64_C(9007199254740993)));
    check_fill("uint64", "18446744073709551615", BITS64(UINT64_MAX));
    check_fill("uint64", "\"18446744073709551615\"", BITS64(UINT64_MAX));
    static const char *const refused[][2] = {
        {"int8", "128"},     {"int8", "-129"},       {"uint8", "256"},       {"uint8", "-1"},     {"uint8", "0.5"},
        {"int16", "40000"},  {"uint16", "65536"},    {"int32", "3e9"},       {"uint32", "-0.5"},  {"uint64", "-1"},
        {"int64", "9223372036854775808"},            {"uint64", "18446744073709551616"},          {"int32", "NaN"},
        {"int32", "\"NaN\""}, {"int32", "true"},     {"int32", "[1]"},       {"int32", "{}"},     {"int32", "\"\""},
        {"uint8", "\"0xff\""}, {"int64", "\"NaT\""}, {"uint8", "\" 1\""},    {"uint8", "1e400"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_fill_refused(refused[i][0], refused[i][1]);
}

TEST(test_float_fill_values)
{
    check_fill("float64", "0.1", F64(0.1));
    check_fill("float64", "-0.0", BITS64(UINT64_C(1) << 63));
    check_fill("float64", "0", F64(0));
    check_fill("float64", "1.7976931348623157e308", F64(1.7976931348623157e308));
    check_fill("float64", "\"NaN\"", BITS64(UINT64_C(0x7ff8000000000000)));
    check_fill("float64", "NaN", BITS64(UINT64_C(0x7ff8000000000000)));
    check_fill("float64", "\"Infinity\"", F64((double)INFINITY));
    check_fill("float64", "\"-Infinity\"", F64(-(double)INFINITY));
    check_fill("float64", "-Infinity", F64(-(double)INFINITY));
    check_fill("float64", "\"0x7ff8000000000001\"", BITS64(UINT64_C(0x7ff8000000000001)));
    check_fill("float64", "\"0xFFFFFFFFFFFFFFFF\"", BITS64(UINT64_MAX));
    check_fill("float32", "0.1", F32(0.1f));
    check_fill("float32", "-9999", F32(-9999));
    check_fill("float32", "3.4028234663852886e+38", BITS32(0x7f7fffff));
    check_fill("float32", "3.4028235e38", BITS32(0x7f7fffff));
    check_fill("float32", "1e-46", F32(0));
    check_fill("float32", "\"NaN\"", BITS32(0x7fc00000));
    check_fill("float32", "NaN", BITS32(0x7fc00000));
    check_fill("float32", "\"Infinity\"", BITS32(0x7f800000));
    check_fill("float32", "\"+Infinity\"", BITS32(0x7f800000));
    check_fill("float32", "\"-Infinity\"", BITS32(0xff800000));
    check_fill("float32", "\"0x7fc00001\"", BITS32(0x7fc00001));
    check_fill("float32", "\"0x7FC0000a\"", BITS32(0x7fc0000a));
    check_fill("float32", "\"0x1\"", BITS32(1));
    check_fill("float32", "\"0b01000000010010010000111111011011\"", BITS32(0x40490fdb));
    check_fill("float32", "\"-1.5\"", F32(-1.5f));
    /* Rounded once: by way of a double this is a tie, and would go down to even. */
    check_fill("float32", "1.00000005960464477540", BITS32(0x3f800001));
    check_fill("float32", "1.000000059604644775390625", BITS32(0x3f800000));
    check_fill("float16", "1", BITS16(0x3c00));
    check_fill("float16", "\"NaN\"", BITS16(0x7e00));
    check_fill("float16", "\"0x7e01\"", BITS16(0x7e01));
    check_fill("float16", "\"-Infinity\"", BITS16(0xfc00));
    check_fill("float16", "65504", BITS16(0x7bff));
    check_fill("float16", "65519.99", BITS16(0x7bff));
    check_fill("float16", "0.0", BITS16(0));
    check_fill("float16", "-0.0", BITS16(0x8000));
    static const char *const refused[][2] = {
        {"float64", "1e400"},
        {"float64", "\"nan\""},
        {"float64", "true"},
        {"float64", "[1]"},
        {"float32", "1e39"},
        {"float32", "3.4028236e38"},
        {"float32", "\"0x1ffffffff\""},
        {"float32", "\"0x\""},
        {"float32", "\"0xg\""},
        {"float32", "\"0b2\""},
        {"float32", "\"\""},
        {"float16", "65520"},
        {"float16", "\"0x10000\""},
        {"float32", "{}"},
        {"float64", "\"0x10000000000000000\""},
        {"float32", "\"++Infinity\""},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_fill_refused(refused[i][0], refused[i][1]);
}

TEST(test_fill_values_that_are_null_are_nan_of_floats_and_absent_ones_zero_bits)
{
    const char *text = "null";
    const unsigned char zeros[ZS_MAX_ITEM_SIZE] = {0};
    zs_json *null = NULL;
    CHECK(zs_json_parse(text, 4, &null, NULL) == ZS_OK);
    for (int type = ZS_BOOL; type <= ZS_RAW; type++) {
        const struct zs_dtype dtype = zs_dtype_of((enum zs_data_type)type);
        unsigned char value[ZS_MAX_ITEM_SIZE];
        bool was_null = false;
        memset(value, 1, sizeof value);
        CHECK(zs_fill_value_parse(&dtype, null, value, &was_null, NULL) == ZS_OK && was_null);
        const bool is_float = type == ZS_FLOAT16 || type == ZS_FLOAT32 || type == ZS_FLOAT64;
        CHECK((memcmp(value, zeros, dtype.size) != 0) == is_float);
        CHECK(zs_fill_value_parse(&dtype, NULL, value, NULL, NULL) == ZS_OK);
        CHECK_EQ_MEM(value, zeros, dtype.size);
    }
    zs_json_free(null);
}

static void check_written(const char *type, const void *value, const char *expected)
{
    const struct zs_dtype dtype = type_named(type);
    zs_json *root = zs_json_new_object();
    const zs_json *added = zs_fill_value_add(root, "fill_value", &dtype, value);
    CHECK(added != NULL && added == zs_json_get(root, "fill_value"));
    char *text = zs_json_print(added);
    CHECK_EQ_STR(text, expected);
    free(text);
    unsigned char back[ZS_MAX_ITEM_SIZE];
    CHECK(zs_fill_value_parse(&dtype, added, back, NULL, NULL) == ZS_OK);
    CHECK_EQ_MEM(back, value, dtype.size);
    zs_json_free(root);
}

TEST(test_fill_values_are_written_in_canonical_form)
{
    check_written("bool", "\x01", "true");
    check_written("int8", "\x80", "-128");
    check_written("uint8", "\xff", "255");
    check_written("int16", BITS16(0x8000), "-32768");
    check_written("uint16", BITS16(0xffff), "65535");
    check_written("int32", BITS32(0x80000000), "-2147483648");
    check_written("uint32", BITS32(UINT32_MAX), "4294967295");
    check_written("int64", BITS64(UINT64_C(1) << 63), "-9223372036854775808");
    check_written("uint64", BITS64(UINT64_MAX), "18446744073709551615");
    check_written("float16", BITS16(0x3c00), "1.0");
    check_written("float16", BITS16(0x7e00), "\"NaN\"");
    check_written("float16", BITS16(0xfe00), "\"0xfe00\"");
    check_written("float32", F32(0), "0.0");
    check_written("float32", BITS32(0x7f7fffff), "3.4028234663852886e+38");
    check_written("float32", BITS32(0x7fc00000), "\"NaN\"");
    check_written("float32", BITS32(0x7f800001), "\"0x7f800001\"");
    check_written("float32", BITS32(0xff800000), "\"-Infinity\"");
    check_written("bfloat16", F32(1.5f), "1.5");
    check_written("bfloat16", BITS32(0x7fc00000), "\"NaN\"");
    check_written("bfloat16", BITS32(0xffc10000), "\"0xffc1\"");
    check_written("float64", F64(-0.0), "-0.0");
    check_written("float64", F64(0.1), "0.1");
    check_written("float64", BITS64(UINT64_C(0xfff8000000000000)), "\"0xfff8000000000000\"");
    check_written("float64", BITS64(UINT64_C(0x7ff0000000000000)), "\"Infinity\"");
    check_written("complex64", ((const uint32_t[]){0x7fc00001, 0x40200000}), "[\"0x7fc00001\",2.5]");
    check_written("complex128", ((const double[]){1, -0.0}), "[1.0,-0.0]");
    check_written("numpy.datetime64", BITS64(UINT64_C(1) << 63), "\"NaT\"");
    check_written("numpy.timedelta64", BITS64(5), "5");
    check_written("r8", "\xff", "[255]");
    const struct zs_dtype dtype = zs_dtype_of(ZS_COMPLEX64);
    CHECK(zs_fill_value_add(NULL, "fill_value", &dtype, (const float[]){0, 0}) == NULL);
}

TEST(test_every_half_is_exact_and_returns)
{
    for (unsigned h = 0; h <= 0xffff; h++) {
        const double d = zs_half_to_double((uint16_t)h);
        if (isnan(d))
            CHECK((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0);
        else
            CHECK_EQ_U64(zs_half_from_double(d), h);
        /* Half way to the next one goes to the even one, a little more or less to the nearer one. */
        if ((h & 0x7fff) < 0x7bff) {
            const double next = zs_half_to_double((uint16_t)(h + 1));
            const double middle = (d + next) / 2;
            CHECK_EQ_U64(zs_half_from_double(middle), h + (h & 1));
            CHECK_EQ_U64(zs_half_from_double(nextafter(middle, d)), h);
            CHECK_EQ_U64(zs_half_from_double(nextafter(middle, next)), h + 1);
        }
    }
    CHECK_EQ_F64(zs_half_to_double(0x0001), 0x1p-24);
    CHECK_EQ_F64(zs_half_to_double(0x3555), 0.333251953125);
    CHECK_EQ_F64(zs_half_to_double(0xc000), -2);
    CHECK_EQ_U64(zs_half_from_double(1e300), 0x7c00);
    CHECK_EQ_U64(zs_half_from_double(-65520), 0xfc00);
    CHECK_EQ_U64(zs_half_from_double(1e-300), 0);
    CHECK_EQ_U64(zs_half_from_double(-0.0), 0x8000);
    CHECK_EQ_U64(zs_half_from_double((double)NAN), 0x7e00);
}
