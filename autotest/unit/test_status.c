/* Status and message. */
#include "base/status.h"
#include "check.h"

static void prefixed(const char *message, const char *context, const char *expected)
{
    struct zs_error err;
    (void)zs_fail(&err, ZS_IO, "%s", message);
    (void)zs_fail_in(&err, ZS_IO, "%s", context);
    CHECK_EQ_STR(err.message, expected);
}

TEST(test_path_is_not_repeated_in_messages)
{
    prefixed("root/c/0: found 3", "root/c/0", "root/c/0: found 3");
    prefixed("root/c/0: found 3", "root/c/0, inner chunk [1,2]", "root/c/0, inner chunk [1,2]: found 3");
    prefixed("root/zarr.json: found 3", "root", "root: root/zarr.json: found 3"); /* not a path to be sure of */
    prefixed("/root/zarr.json: found 3", "/root", "/root/zarr.json: found 3");
    prefixed("root/c/10: found 3", "root/c/1", "root/c/1: root/c/10: found 3");
    prefixed("root/c/1: found 3", "root/c/10", "root/c/10: root/c/1: found 3");
    prefixed("/vsicurl/http://host:8/a b/c/0: found 3: 4", "/vsicurl/http://host:8/a b/c/0, inner chunk [0]",
             "/vsicurl/http://host:8/a b/c/0, inner chunk [0]: found 3: 4");
    prefixed("/data/a: b/c/0: found 3", "/data/a: b/c/0, inner chunk [0]", "/data/a: b/c/0, inner chunk [0]: found 3");
    prefixed("codec \"zstd\": found 3", "codec", "codec: codec \"zstd\": found 3");
    prefixed("found 3", "root/c/0", "root/c/0: found 3");
    prefixed("", "root/c/0", "root/c/0: ");
}

TEST(test_long_messages_are_cut_and_stay_in_bounds)
{
    struct {
        struct zs_error err;
        char guard[8];
    } s;
    char text[2 * sizeof s.err.message];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    memset(s.guard, 0x5A, sizeof s.guard);
    (void)zs_fail(&s.err, ZS_IO, "%s", text);
    CHECK_EQ_U64(strlen(s.err.message), sizeof s.err.message - 1);
    (void)zs_fail_in(&s.err, ZS_IO, "where");
    CHECK_EQ_U64(strlen(s.err.message), sizeof s.err.message - 1);
    CHECK(strncmp(s.err.message, "where: xxx", 10) == 0);
    /* Contexts that leave no room, or one byte, or two, for what was there. */
    for (int room = 0; room < 8; room++) {
        (void)zs_fail(&s.err, ZS_IO, "inner");
        (void)zs_fail_in(&s.err, ZS_IO, "%.*s", (int)sizeof s.err.message - 1 - room, text);
        CHECK(strlen(s.err.message) < sizeof s.err.message);
        CHECK(s.err.message[0] == 'x');
    }
    for (size_t i = 0; i < sizeof s.guard; i++)
        CHECK_EQ_U64((unsigned char)s.guard[i], 0x5A);
}
