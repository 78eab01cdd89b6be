/*
 * check.h: all that a unit test needs.
 *
 *     TEST(test_empty_inner_chunk_reads_as_fill_value)
 *     {
 *         CHECK(zs_thing_open(&thing) == ZS_OK);
 *         CHECK_EQ_U64(thing.size, 12);
 *     }
 *
 * main() runs all tests of the file in their order. A file that has something to do around them defines CHECK_OWN_MAIN,
 * and calls check_all() in a main() of its own.
 *
 * A failed check prints file, line and both values, is counted, and the test goes on; it gives false, so that what
 * makes no sense without it can be left: if (!CHECK(array)) return. Checks may be made from any thread. They stay in
 * with NDEBUG.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

static atomic_int check_failures;
static const char *check_running = "main";

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_OK(call, err) check_ok((call), (err), #call, __FILE__, __LINE__) /* prints the message of a failure */
#define CHECK_EQ_U64(actual, expected) check_u64((uint64_t)(actual), (uint64_t)(expected), #actual, __FILE__, __LINE__)
#define CHECK_EQ_I64(actual, expected) check_i64((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define CHECK_EQ_F64(actual, expected) check_f64((actual), (expected), #actual, __FILE__, __LINE__) /* NaN equals NaN */
#define CHECK_EQ_STR(actual, expected) \
    check_str((actual), (expected), #actual, __FILE__, __LINE__) /* NULL equals NULL */
#define CHECK_EQ_MEM(actual, expected, size) check_mem((actual), (expected), (size), #actual, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) \
    check_contains((text), (part), #text, __FILE__, __LINE__) /* an error names something */

struct check_test {
    const char *name;
    int line;
    void (*run)(void);
    struct check_test *next;
};

static struct check_test *check_tests; /* by their lines: constructors run in any order */

#define TEST(test)                                                              \
    static void test(void);                                                     \
    __attribute__((constructor)) static void add_##test(void)                   \
    {                                                                           \
        static struct check_test row = {.name = #test, .line = __LINE__, test}; \
        check_add(&row);                                                        \
    }                                                                           \
    static void test(void)

static inline void check_add(struct check_test *test)
{
    struct check_test **at = &check_tests;
    while (*at != NULL && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

static inline void check_all(void)
{
    for (const struct check_test *test = check_tests; test != NULL; test = test->next) {
        check_running = test->name;
        test->run();
    }
}

static inline int check_result(void)
{
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures ? 1 : 0;
}

static inline bool check_fail(const char *file, int line)
{
    atomic_fetch_add(&check_failures, 1);
    fprintf(stderr, "%s:%d: %s: ", file, line, check_running);
    return false;
}

static inline bool check_true(bool condition, const char *what, const char *file, int line)
{
    if (condition)
        return true;
    check_fail(file, line);
    fprintf(stderr, "not so: %s\n", what);
    return false;
}

static inline bool check_ok(enum zs_status status, const struct zs_error *err, const char *what, const char *file,
                            int line)
{
    if (!check_true(status == ZS_OK, what, file, line))
        fprintf(stderr, "%s\n", err->message);
    return status == ZS_OK;
}

static inline bool check_u64(uint64_t actual, uint64_t expected, const char *what, const char *file, int line)
{
    if (actual == expected)
        return true;
    check_fail(file, line);
    fprintf(stderr, "%s is %" PRIu64 ", not %" PRIu64 "\n", what, actual, expected);
    return false;
}

static inline bool check_i64(int64_t actual, int64_t expected, const char *what, const char *file, int line)
{
    if (actual == expected)
        return true;
    check_fail(file, line);
    fprintf(stderr, "%s is %" PRId64 ", not %" PRId64 "\n", what, actual, expected);
    return false;
}

static inline bool check_f64(double actual, double expected, const char *what, const char *file, int line)
{
    if (actual == expected || (actual != actual && expected != expected))
        return true;
    check_fail(file, line);
    fprintf(stderr, "%s is %.17g, not %.17g\n", what, actual, expected);
    return false;
}

static inline bool check_str(const char *actual, const char *expected, const char *what, const char *file, int line)
{
    if (actual == expected || (actual && expected && strcmp(actual, expected) == 0))
        return true;
    check_fail(file, line);
    fprintf(stderr, "%s is \"%s\", not \"%s\"\n", what, actual ? actual : "(NULL)", expected ? expected : "(NULL)");
    return false;
}

static inline bool check_mem(const void *actual, const void *expected, size_t size, const char *what, const char *file,
                             int line)
{
    const unsigned char *a = actual, *e = expected;
    for (size_t i = 0; i < size; i++) {
        if (a[i] != e[i]) {
            check_fail(file, line);
            fprintf(stderr, "%s: byte %zu of %zu is %02x, not %02x\n", what, i, size, a[i], e[i]);
            return false;
        }
    }
    return true;
}

static inline bool check_contains(const char *text, const char *part, const char *what, const char *file, int line)
{
    if (text && strstr(text, part))
        return true;
    check_fail(file, line);
    fprintf(stderr, "%s is \"%s\", without \"%s\"\n", what, text ? text : "(NULL)", part);
    return false;
}

#ifndef CHECK_OWN_MAIN
int main(void)
{
    check_all();
    return check_result();
}
#endif

#endif
