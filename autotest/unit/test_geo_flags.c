/* CF's flags: read, and taken for validity or not. */

#include "geo/flags.h"
#include "geo_store.h"

static struct zs_flags read_flags(struct geo_store *s, const char *attributes)
{
    struct zs_flags flags;
    put_group(s, "", "{}");
    put_array(s, "a", "[4,6]", "['y','x']", "uint8", "0", attributes);
    CHECK(zs_flags_read(open_node(s, "a")->attributes, &flags, NULL) == ZS_OK);
    return flags;
}

static void test_flags_are_read(void)
{
    struct geo_store s = {0};
    struct zs_flags f = read_flags(&s, "{'flag_values':[2,5],'flag_meanings':'water  land','flag_colors':'#0000Ff #00ff00'}");
    CHECK_EQ_U64(f.count, 2);
    CHECK(f.has_values && !f.has_masks && f.has_colours);
    CHECK_EQ_STR(f.list[1].name, "land");
    CHECK_EQ_I64(f.list[1].value, 5);
    CHECK_EQ_I64(f.list[1].mask, -1);
    CHECK_EQ_U64(f.list[0].b, 255);
    zs_flags_clear(&f);
    close_store(&s);
}

static void test_bits_are_read_from_lists_too(void)
{
    struct geo_store s = {0};
    struct zs_flags f = read_flags(&s, "{'flag_masks':[1,6,6],'flag_values':[1,2,4],'flag_meanings':['a b','c','d'],'flag_colors':['#000000']}");
    CHECK_EQ_U64(f.count, 3);
    CHECK(f.has_values && f.has_masks && !f.has_colours);
    CHECK_EQ_STR(f.list[0].name, "a b");
    CHECK_EQ_I64(f.list[2].mask, 6);
    CHECK_EQ_I64(f.list[2].value, 4);
    zs_flags_clear(&f);
    close_store(&s);
}

static void test_malformed_flags_give_no_table(void)
{
    static const char *const odd[] = {
        "{}",
        "{'flag_values':[1,2]}",
        "{'flag_meanings':'a b'}",
        "{'flag_values':[1,2],'flag_meanings':'a'}",
        "{'flag_values':[1,2],'flag_meanings':'a b c'}",
        "{'flag_values':[1,2.5],'flag_meanings':'a b'}",
        "{'flag_values':['1','2'],'flag_meanings':'a b'}",
        "{'flag_values':[1,2],'flag_meanings':['a',2]}",
        "{'flag_values':[1,2],'flag_masks':[1],'flag_meanings':'a b'}",
        "{'flag_masks':[0],'flag_meanings':'a'}",
        "{'flag_values':3,'flag_meanings':'a'}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct geo_store s = {0};
        struct zs_flags f = read_flags(&s, odd[i]);
        if (!CHECK_EQ_U64(f.count, 0))
            fprintf(stderr, "%s\n", odd[i]);
        zs_flags_clear(&f);
        close_store(&s);
    }
}

/* "1" valid, "0" not, for elements 0 to 3; "" where it is no mask. */
static const char *validity(const char *type, const char *attributes)
{
    static char told[8];
    struct geo_store s = {0};
    struct zs_validity v;
    put_group(&s, "", "{}");
    put_array(&s, "a", "[4,6]", "['y','x']", type, "0", attributes);
    told[0] = '\0';
    if (zs_validity_read(open_node(&s, "a"), &v)) {
        for (int i = 0; i < 4; i++)
            told[i] = zs_validity_of(&v, i) ? '1' : '0';
        told[4] = '\0';
        if (v.is_writable)
            CHECK(zs_validity_of(&v, v.valid) && !zs_validity_of(&v, v.invalid));
    }
    close_store(&s);
    return told;
}

static void test_meanings_of_validity_flags(void)
{
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[0,1],'flag_meanings':'bad good'}"), "0100");
    CHECK_EQ_STR(validity("uint16", "{'flag_values':[0,1,2],'flag_meanings':'VALID no-data missing'}"), "1000");
    CHECK_EQ_STR(validity("uint8", "{'flag_masks':[1,2],'flag_meanings':'cloud invalid'}"), "1100");
    CHECK_EQ_STR(validity("int32", "{'flag_masks':[1,2],'flag_meanings':'usable invalid'}"), "0100");
    CHECK_EQ_STR(validity("bool", "{'flag_values':[0],'flag_meanings':'valid'}"), "1000");
}

static void test_flag_meanings_without_validity(void)
{
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[0,1],'flag_meanings':'clear cloudy'}"), "");
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[0,1,2],'flag_meanings':'bad good cloudy'}"), "");
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[1],'flag_meanings':'valid'}"), "");
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[1,2],'flag_meanings':'valid good'}"), "");
    CHECK_EQ_STR(validity("uint8", "{'flag_values':[0,1],'flag_meanings':'bad goodgoodgoodgoodgoodgoodgoodgoodgood'}"), "");
    CHECK_EQ_STR(validity("float32", "{'flag_values':[0,1],'flag_meanings':'bad good'}"), "");
    CHECK_EQ_STR(validity("int64", "{'flag_values':[0,1],'flag_meanings':'bad good'}"), "");
    CHECK_EQ_STR(validity("bool", "{'flag_values':[3],'flag_meanings':'valid'}"), "");
}

int main(void)
{
    RUN(test_flags_are_read);
    RUN(test_bits_are_read_from_lists_too);
    RUN(test_malformed_flags_give_no_table);
    RUN(test_meanings_of_validity_flags);
    RUN(test_flag_meanings_without_validity);
    return check_result();
}
