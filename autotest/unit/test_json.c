/* JSON: numbers survive exactly, whatever the locale, and malformed text is refused with its place. */
#include "check.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "zarr/json.h"

static zs_json *parse(const char *text)
{
    struct zs_error err = {0};
    zs_json *root = NULL;
    if (!CHECK(zs_json_parse(text, strlen(text), &root, &err) == ZS_OK))
        fprintf(stderr, "%s: %s\n", text, err.message);
    return root;
}

static void check_prints_as(const char *text, const char *expected)
{
    zs_json *root = parse(text);
    char *printed = zs_json_print(root);
    CHECK_EQ_STR(printed, expected);
    free(printed);
    zs_json_free(root);
}

static void check_refused(const char *text, size_t length, const char *part)
{
    struct zs_error err = {0};
    zs_json *root = NULL;
    if (!CHECK(zs_json_parse(text, length, &root, &err) == ZS_INVALID))
        fprintf(stderr, "%.60s was accepted\n", text);
    CHECK_CONTAINS(err.message, part);
    zs_json_free(root);
}

/* As for Python, whose writers and readers others work beside. */
TEST(test_last_of_members_with_one_name_counts)
{
    check_prints_as("{\"a\":1,\"b\":{\"c\":1,\"c\":[{\"d\":1,\"d\":2}]},\"a\":{},\"a\":3}",
                    "{\"b\":{\"c\":[{\"d\":2}]},\"a\":3}");
}

TEST(test_values_are_found_by_name_and_position)
{
    zs_json *root = parse(" {\"a\": [1, 2.5, \"x\", true, null, {}], \"A\": false, \"\": 7, \"n\": {\"b\": -3}}\n");
    const zs_json *a = zs_json_get(root, "a");
    CHECK(zs_json_is_array(a) && zs_json_is_object(root));
    CHECK_EQ_U64(zs_json_size(a), 6);
    CHECK_EQ_U64(zs_json_size(root), 4);
    const enum zs_json_type types[] = {ZS_JSON_NUMBER, ZS_JSON_NUMBER, ZS_JSON_STRING,
                                       ZS_JSON_BOOL,   ZS_JSON_NULL,   ZS_JSON_OBJECT};
    size_t i = 0;
    for (const zs_json *c = zs_json_first(a); c != NULL; c = zs_json_next(c), i++) {
        CHECK(zs_json_typeof(c) == types[i]);
        CHECK(zs_json_at(a, i) == c);
    }
    CHECK_EQ_U64(i, 6);
    CHECK(zs_json_at(a, 6) == NULL);
    CHECK(zs_json_typeof(zs_json_get(root, "A")) == ZS_JSON_BOOL); /* names are case-sensitive */
    CHECK(zs_json_get(root, "N") == NULL);
    int64_t n = 0;
    CHECK(zs_json_int64(zs_json_get(root, ""), &n) && n == 7);
    CHECK(zs_json_int64(zs_json_get(zs_json_get(root, "n"), "b"), &n) && n == -3);
    CHECK_EQ_STR(zs_json_name(zs_json_first(root)), "a");
    CHECK(zs_json_equals(zs_json_at(a, 2), "x") && !zs_json_equals(zs_json_at(a, 2), "y"));
    CHECK(!zs_json_equals(zs_json_at(a, 0), "1"));
    zs_json_free(root);
}

TEST(test_integers_are_exact_to_64_bits)
{
    static const struct {
        const char *token;
        bool is_int, is_uint;
        int64_t i;
        uint64_t u;
    } cases[] = {
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"-9223372036854775808", true, false, INT64_MIN, 0},
        {"9223372036854775808", false, true, 0, UINT64_C(9223372036854775808)},
        {"-9223372036854775809", false, false, 0, 0},
        {"9007199254740993", true, true, INT64_C(9007199254740993), UINT64_C(9007199254740993)},
        {"18446744073709551615", false, true, 0, UINT64_MAX},
        {"18446744073709551616", false, false, 0, 0},
        {"1.8446744073709552e19", false, false, 0, 0},
        {"3.0", true, true, 3, 3},
        {"3e0", true, true, 3, 3},
        {"1e3", true, true, 1000, 1000},
        {"-25e-1", false, false, 0, 0},
        {"0.5", false, false, 0, 0},
        {"-9.223372036854775808e18", true, false, INT64_MIN, 0},
        {"1e400", false, false, 0, 0},
        {"-1", true, false, -1, 0},
        {"-0", true, true, 0, 0},
        {"-0.0", true, true, 0, 0},
        {"NaN", false, false, 0, 0},
        {"-Infinity", false, false, 0, 0},
        {"\"3\"", false, false, 0, 0},
        {"[3]", false, false, 0, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        zs_json *root = parse(cases[k].token);
        int64_t i = 42;
        uint64_t u = 42;
        if (!CHECK(zs_json_int64(root, &i) == cases[k].is_int && zs_json_uint64(root, &u) == cases[k].is_uint))
            fprintf(stderr, "%s\n", cases[k].token);
        CHECK_EQ_I64(i, cases[k].is_int ? cases[k].i : 42);
        CHECK_EQ_U64(u, cases[k].is_uint ? cases[k].u : 42);
        zs_json_free(root);
    }
}

TEST(test_doubles_are_read_as_they_stand)
{
    double v[8] = {0};
    zs_json *root = parse("[0.1, -2.5e-3, 1E5, NaN, Infinity, -Infinity, 5e-324, 1.7976931348623157e308]");
    CHECK(zs_json_doubles(root, v, 8));
    CHECK_EQ_F64(v[0], 0.1);
    CHECK_EQ_F64(v[1], -0.0025);
    CHECK_EQ_F64(v[2], 1e5);
    CHECK_EQ_F64(v[3], (double)NAN);
    CHECK_EQ_F64(v[4], (double)INFINITY);
    CHECK_EQ_F64(v[5], -(double)INFINITY);
    CHECK_EQ_F64(v[6], 5e-324);
    CHECK_EQ_F64(v[7], 1.7976931348623157e308);
    CHECK(!zs_json_doubles(root, v, 7));
    zs_json_free(root);

    double kept[2] = {7, 7};
    root = parse("[\"NaN\", 1]"); /* the string is not a number */
    CHECK(!zs_json_doubles(root, kept, 2));
    zs_json_free(root);
    root = parse("1e999");
    CHECK(!zs_json_double(root, kept) && kept[0] == 7);
    zs_json_free(root);
    root = parse("-0.0");
    CHECK(zs_json_double(root, kept) && signbit(kept[0]));
    zs_json_free(root);
}

TEST(test_printing_gives_back_tokens_as_they_were_read)
{
    check_prints_as("{\"a\":[18446744073709551615,-9223372036854775808,NaN,-Infinity,Infinity,1.50,1E+2,0.1]}",
                    "{\"a\":[18446744073709551615,-9223372036854775808,NaN,-Infinity,Infinity,1.50,1E+2,0.1]}");
    check_prints_as(" [ ] ", "[]");
    check_prints_as("{}", "{}");
    check_prints_as("[true,false,null,\"NaN\",\"-Infinity\",\"1\"]", "[true,false,null,\"NaN\",\"-Infinity\",\"1\"]");
    check_prints_as("\"\\\"\\\\\\/\\n\\t\\r\\b\\u00e9\\ud83d\\ude00 NaN 12 [1,{\"",
                    "\"\\\"\\\\/\\n\\t\\u000d\\u0008\xc3\xa9\xf0\x9f\x98\x80 NaN 12 [1,{\"");
}

/* Python's json reads and writes all of these; UTF-8 and C strings cannot hold them. */
TEST(test_nul_and_half_a_pair_of_surrogates_become_the_replacement_character)
{
    static const char *const cases[][2] = {
        {"\"a\\u0000b\"", "a\xEF\xBF\xBD" "b"},
        {"\"\\ud800\"", "\xEF\xBF\xBD"},
        {"\"x\\uDC00\\ud800y\"", "x\xEF\xBF\xBD\xEF\xBF\xBDy"},
        {"\"\\ud83d\\uDE00 \\uD83D\"", "\xF0\x9F\x98\x80 \xEF\xBF\xBD"},
        {"\"\\\\u0000\"", "\\u0000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        zs_json *root = parse(cases[i][0]);
        const char *s = NULL;
        CHECK(zs_json_string(root, &s));
        CHECK_EQ_STR(s, cases[i][1]);
        zs_json_free(root);
    }
    check_prints_as("{\"a\\u0000\":{\"\\uD800\":3}}", "{\"a\xEF\xBF\xBD\":{\"\xEF\xBF\xBD\":3}}");
}

TEST(test_malformed_text_is_refused)
{
    static const char *const texts[] = {
        "",         " ",       "{",        "}",       "[",        "]",          "[1",      "[1,]",     "{\"a\"}",
        "{\"a\":}", "{a:1}",   "{\"a\":1,}", "[1 2]", "01",       "-01",        "1.",      ".5",       "+1",
        "1e",       "1e+",     "--1",      "-",       "0x10",     "1_000",      "nan",     "Inf",      "-NaN",
        "Infinit",  "NaNs",    "tru",      "nulL",    "'a'",      "\"a",        "\"\\",    "\"\\q\"",  "\"\\u12\"",
        "1 2",      "{} {}",   "[]x",      "{}]",     "\"a\"\"b\"", "\"a\" 1",  "1\"a\"",  "[1;2]",    "// c\n1",
        "\x02",     "[\x0b]",  "1\x0c",    "\"a\\uZZZZb\"", "{\"a\\u12Gzb\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_refused(texts[i], strlen(texts[i]), "not JSON");
    check_refused("[1]\0", 4, "NUL byte at offset 3");
    check_refused("\"a\0b\"", 5, "NUL byte at offset 2");
    check_refused("{\"a\": 12, \"b\": tru}", 19, "offset 15");
    check_refused("{\"a\": 12, \"b\": 1.x}", 19, "number at offset 15");
    check_refused("[1,2,3] [", 9, "offset 8");
    check_refused("[1, \"abc]", 9, "offset 4");
    const char *text = "[1]garbage";
    zs_json *root = NULL;
    CHECK(zs_json_parse(text, 3, &root, NULL) == ZS_OK); /* only length bytes are looked at */
    zs_json_free(root);
    text = "\xef\xbb\xbf[1]";
    root = NULL;
    CHECK(zs_json_parse(text, strlen(text), &root, NULL) == ZS_OK); /* a byte order mark is no harm */
    zs_json_free(root);
}

TEST(test_nesting_and_amount_are_limited)
{
    const size_t n = 200000;
    char *deep = malloc(n + 1);
    memset(deep, '[', n);
    deep[n] = '\0';
    check_refused(deep, n, "deeper than 1000");
    check_refused(deep, 1000, "not JSON");
    memset(deep + 1000, ']', 1000);
    zs_json *root = NULL;
    CHECK(zs_json_parse(deep, 2000, &root, NULL) == ZS_OK);
    char *printed = zs_json_print_pretty(root);
    CHECK(printed != NULL);
    free(printed);
    zs_json_free(root);
    deep[999] = '{';
    check_refused(deep, 2000, "not JSON");
    free(deep);

    const size_t values = ZS_JSON_MAX_VALUES + 10;
    char *many = malloc(2 * values + 2);
    many[0] = '[';
    for (size_t i = 0; i < values; i++)
        memcpy(many + 1 + 2 * i, i + 1 < values ? "0," : "0]", 2);
    check_refused(many, 2 * values + 1, "more than");
    free(many);
    check_refused("1", ZS_JSON_MAX_BYTES + 1, "expected at most");
}

static void check_prints_double(double value, const char *expected)
{
    char text[ZS_NUMBER_SIZE];
    zs_number_print(value, text);
    CHECK_EQ_STR(text, expected);
}

TEST(test_messages_show_the_value_that_was_found)
{
    static const char *const cases[][2] = {{"{\"a\":[8, 8.0]}", "a: expected b, found [8,8.0]"},
                                           {"{\"a\":\"x\"}", "a: expected b, found \"x\""},
                                           {"{\"a\":null}", "a: expected b, found null"},
                                           {"{}", "a: expected b, found no such member"}};
    struct zs_error err;
    zs_json *root = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(zs_json_parse(cases[i][0], strlen(cases[i][0]), &root, &err) == ZS_OK);
        CHECK(zs_fail_found(&err, ZS_INVALID, zs_json_get(root, "a"), "%s: expected b", "a") == ZS_INVALID);
        CHECK_EQ_STR(err.message, cases[i][1]);
        zs_json_free(root);
    }
    char text[1000] = "{\"a\":\"";
    for (int i = 0; i < 300; i++)
        (void)strcat(text, "\u00e4");
    (void)strcat(text, "\"}");
    CHECK(zs_json_parse(text, strlen(text), &root, &err) == ZS_OK);
    CHECK(zs_fail_found(&err, ZS_INVALID, zs_json_get(root, "a"), "long") == ZS_INVALID);
    CHECK_EQ_U64(strlen(err.message), strlen("long, found \"") + 98 + strlen("...")); /* whole characters alone */
    zs_json_free(root);
}

TEST(test_doubles_print_in_the_shortest_form_that_reads_back)
{
    check_prints_double(0, "0.0");
    check_prints_double(-0.0, "-0.0");
    check_prints_double(3, "3.0");
    check_prints_double(500000, "500000.0");
    check_prints_double(0.1, "0.1");
    check_prints_double(-0.1, "-0.1");
    check_prints_double(0.001, "0.001");
    check_prints_double(0.0001, "0.0001");
    check_prints_double(0.00001, "1e-05");
    check_prints_double(0.00012345, "0.00012345");
    check_prints_double(123.456, "123.456");
    check_prints_double(1e15, "1000000000000000.0");
    check_prints_double(1e16, "1e+16");
    check_prints_double(123456789012345680.0, "1.2345678901234568e+17");
    check_prints_double(1.0 / 3, "0.3333333333333333");
    check_prints_double(5e-324, "5e-324");
    check_prints_double(1.7976931348623157e308, "1.7976931348623157e+308");
    check_prints_double(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    check_prints_double(9007199254740993.0, "9007199254740992.0");
    check_prints_double((double)0.1f, "0.10000000149011612");
    uint64_t seed = 88172645463325252U;
    for (int i = 0; i < 20000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        double value, back = 0;
        memcpy(&value, &seed, sizeof value);
        if (isnan(value) || isinf(value))
            continue;
        char text[ZS_NUMBER_SIZE];
        zs_number_print(value, text);
        CHECK(zs_number_length(text, strlen(text)) == strlen(text));
        CHECK(zs_number_double(text, &back));
        CHECK_EQ_F64(back, value);
    }
}

TEST(test_documents_are_built_and_changed)
{
    zs_json *root = zs_json_new_object();
    zs_json_add_int64(root, "i", INT64_MIN);
    zs_json_add_uint64(root, "u", UINT64_MAX);
    zs_json_add_double(root, "d", 0.25);
    zs_json_add_double(root, "nan", (double)NAN);
    zs_json_add_bool(root, "b", true);
    zs_json_add_null(root, "z");
    zs_json *list = zs_json_add_array(root, "l");
    zs_json_add_string(list, NULL, "a\"\n");
    zs_json_add_raw(list, NULL, "12.50");
    zs_json_add_object(list, NULL);
    CHECK(zs_json_add_raw(list, NULL, "12.") == NULL);
    char *text = zs_json_print(root);
    CHECK_EQ_STR(
        text, "{\"i\":-9223372036854775808,\"u\":18446744073709551615,\"d\":0.25,\"nan\":\"NaN\",\"b\":true,\"z\":null,"
              "\"l\":[\"a\\\"\\n\",12.50,{}]}");
    free(text);
    uint64_t u = 0;
    CHECK(zs_json_uint64(zs_json_get(root, "u"), &u) && u == UINT64_MAX);

    /* Copies are detached and complete. */
    zs_json *copy = zs_json_copy(zs_json_get(root, "l"));
    CHECK(zs_json_name(copy) == NULL);
    CHECK(zs_json_set(root, "d", copy) == copy);
    zs_json_remove(root, "l");
    zs_json_remove(root, "l");
    zs_json_remove(root, "u");
    zs_json_remove(root, "nan");
    CHECK(zs_json_set(root, "new", zs_json_new_array()) != NULL);
    CHECK(zs_json_get_mutable(root, "new") == zs_json_get(root, "new"));
    text = zs_json_print(root);
    CHECK_EQ_STR(text, "{\"i\":-9223372036854775808,\"d\":[\"a\\\"\\n\",12.50,{}],\"b\":true,\"z\":null,\"new\":[]}");
    free(text);

    /* Misuse gives NULL, and nothing leaks. */
    CHECK(zs_json_add_string(NULL, "a", "b") == NULL);
    CHECK(zs_json_add_int64(zs_json_add_object(NULL, "a"), "b", 1) == NULL);
    CHECK(zs_json_add(NULL, "a", zs_json_new_object()) == NULL);
    CHECK(zs_json_add(root, "a", NULL) == NULL);
    CHECK(zs_json_add_null(root, NULL) == NULL);
    CHECK(zs_json_set(root, "a", NULL) == NULL);
    CHECK(zs_json_copy(NULL) == NULL);
    zs_json_free(root);
}

TEST(test_a_comma_locale_changes_nothing)
{
    const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < sizeof locales / sizeof locales[0] && !found; i++)
        found = setlocale(LC_ALL, locales[i]) != NULL && localeconv()->decimal_point[0] == ',';
    if (!found)
        fprintf(stderr, "no locale with a decimal comma here: not tested under one\n");
    test_doubles_are_read_as_they_stand();
    test_doubles_print_in_the_shortest_form_that_reads_back();
    test_documents_are_built_and_changed();
    test_printing_gives_back_tokens_as_they_were_read();
    float f = 0;
    CHECK(zs_number_float("0.1", &f) && f == 0.1f);
    if (found) { /* and ours leaves the process's as it is */
        char text[16];
        (void)snprintf(text, sizeof text, "%.1f", 0.5);
        CHECK_EQ_STR(text, "0,5");
    }
    setlocale(LC_ALL, "C");
}
