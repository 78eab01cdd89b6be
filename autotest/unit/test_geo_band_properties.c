/* What attributes make of values: nodata in each of its encodings, scale, names, categories, metadata. */
#include <math.h>

#include "geo/band_properties.h"
#include "geo_store.h"

static struct geo_store s;

static struct zs_band_properties properties_of(const char *type, const char *fill, const char *attributes)
{
    struct zs_error err = {""};
    struct zs_band_properties m;
    close_store(&s);
    put_group(&s, "", "{}");
    put_array(&s, "a", "[2,2]", "['y','x']", type, fill, attributes);
    const struct zs_node *node = open_node(&s, "a");
    if (!CHECK(node->array != NULL))
        fprintf(stderr, "  %s\n", node->array_error->message);
    if (!CHECK(zs_band_properties_read(node, &m, &err) == ZS_OK))
        exit(1);
    return m;
}

/* Nodata as a double; 12345 stands for none. */
static double nodata(const char *type, const char *fill, const char *attributes)
{
    struct zs_band_properties m = properties_of(type, fill, attributes);
    const double value = m.has_nodata ? zs_dtype_to_double(&open_node(&s, "a")->array->dtype, m.nodata) : 12345;
    zs_band_properties_clear(&m);
    return value;
}

static void test_fill_value_attribute_in_each_encoding(void)
{
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':'AAAAAAAA+H8='}"), (double)NAN);
    CHECK_EQ_F64(nodata("float16", "0", "{'_FillValue':'AAAAAAAA+H8='}"), (double)NAN);
    CHECK_EQ_F64(nodata("float64", "0", "{'_FillValue':'AAAAAACI08A='}"), -20000);
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':NaN}"), (double)NAN);
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':'NaN'}"), (double)NAN);
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':'-Infinity'}"), -INFINITY);
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':'-9999'}"), -9999);
    CHECK_EQ_F64(nodata("float32", "0", "{'_FillValue':0.1}"), (double)0.1f);
    CHECK_EQ_F64(nodata("int16", "0", "{'_FillValue':-32767}"), -32767);
    CHECK_EQ_F64(nodata("int16", "0", "{'_FillValue':-32767.0}"), -32767);
    CHECK_EQ_F64(nodata("uint8", "0", "{'_FillValue':'255'}"), 255);
    CHECK_EQ_F64(nodata("uint8", "0", "{'_FillValue':[255]}"), 255);
    CHECK_EQ_F64(nodata("bool", "false", "{'_FillValue':true}"), 1);
}

static void test_sources_of_nodata_in_order(void)
{
    CHECK_EQ_F64(nodata("int16", "3", "{'_FillValue':1,'missing_value':2}"), 1);
    CHECK_EQ_F64(nodata("int16", "3", "{'missing_value':2}"), 2);
    CHECK_EQ_F64(nodata("int16", "3", "{'missing_value':[2,4]}"), 2);
    CHECK_EQ_F64(nodata("int16", "3", "{}"), 3);
    CHECK_EQ_F64(nodata("int16", "null", "{}"), 12345);
    CHECK_EQ_F64(nodata("int16", "0", "{'gdal:no_nodata':true}"), 12345);
    CHECK_EQ_F64(nodata("bool", "false", "{}"), 12345);
    /* What the type cannot hold masks nothing. */
    CHECK_EQ_F64(nodata("uint8", "0", "{'_FillValue':-9999}"), 12345);
    CHECK_EQ_F64(nodata("uint8", "0", "{'_FillValue':'AAAAAAAA+H8='}"), 12345);
}

static void test_nodata_keeps_every_bit(void)
{
    struct zs_band_properties m = properties_of("uint64", "0", "{'_FillValue':18446744073709551615}");
    const uint64_t all = UINT64_MAX;
    CHECK(m.has_nodata);
    CHECK_EQ_MEM(m.nodata, &all, 8);
    zs_band_properties_clear(&m);
    m = properties_of("complex64", "[0,0]", "{'_FillValue':['AAAAAAAA+H8=','AAAAAACI08A=']}");
    float parts[2];
    memcpy(parts, m.nodata, 8);
    CHECK(m.has_nodata && isnan(parts[0]));
    CHECK_EQ_F64((double)parts[1], -20000);
    zs_band_properties_clear(&m);
}

static void test_scale_units_and_names(void)
{
    struct zs_band_properties m = properties_of("int16", "0",
                                     "{'scale_factor':'1e-4','add_offset':-0.1,'units':'m','long_name':'Height','stan"
                                     "dard_name':'height','common_name':'Red'}");
    CHECK(m.has_scale && m.has_offset);
    CHECK_EQ_F64(m.scale, 1e-4);
    CHECK_EQ_F64(m.offset, -0.1);
    CHECK_EQ_STR(m.unit, "m");
    CHECK_EQ_STR(m.description, "Height");
    CHECK_EQ_STR(m.colour_name, "Red");
    zs_band_properties_clear(&m);
    m = properties_of("int16", "0",
                      "{'_eopf_attrs':{'scale_factor':0.5,'units':'digital_counts'},'long_name':'n','standard_name':'s'}");
    CHECK_EQ_F64(m.scale, 0.5);
    CHECK(!m.has_offset);
    CHECK_EQ_STR(m.unit, "digital_counts");
    CHECK_EQ_STR(m.description, "n");
    zs_band_properties_clear(&m);
    CHECK_EQ_STR(zs_colour_of_name("BLUE"), "Blue");
    CHECK_EQ_STR(zs_colour_of_name("grey"), "Gray");
    CHECK(zs_colour_of_name("B04") == NULL);
    CHECK(zs_colour_of_name(NULL) == NULL);
}

static void test_categories(void)
{
    struct zs_band_properties m = properties_of("uint8", "0",
                                                "{'flag_values':[0,3,1],'flag_meanings':'no  maybe yes'}");
    if (CHECK(m.categories != NULL)) {
        CHECK_EQ_STR(m.categories[0], "no");
        CHECK_EQ_STR(m.categories[1], "yes");
        CHECK_EQ_STR(m.categories[2], "");
        CHECK_EQ_STR(m.categories[3], "maybe");
        CHECK(m.categories[4] == NULL);
    }
    CHECK(m.metadata == NULL);
    zs_band_properties_clear(&m);
    m = properties_of("uint8", "0", "{'flag_values':[1,0],'flag_meanings':['b c']}");
    if (CHECK(m.categories != NULL)) {
        CHECK_EQ_STR(m.categories[0], "");
        CHECK_EQ_STR(m.categories[1], "b c");
    }
    zs_band_properties_clear(&m);
    m = properties_of("uint8", "0", "{'flag_masks':[1,2],'flag_meanings':['A','B']}");
    CHECK(m.categories == NULL);
    if (CHECK(m.metadata != NULL && m.metadata[0] != NULL)) {
        CHECK_EQ_STR(m.metadata[0], "flag_masks=[1,2]");
        CHECK_EQ_STR(m.metadata[1], "flag_meanings=[\"A\",\"B\"]");
    }
    zs_band_properties_clear(&m);
    m = properties_of("int32", "0", "{'flag_values':[-1,0],'flag_meanings':'a b'}");
    CHECK(m.categories == NULL);
    zs_band_properties_clear(&m);
    m = properties_of("int32", "0", "{'flag_values':[65536],'flag_meanings':'a'}");
    CHECK(m.categories == NULL);
    zs_band_properties_clear(&m);
}

static void test_other_attributes_are_metadata(void)
{
    struct zs_band_properties m = properties_of("int16", "0",
                                     "{'spatial:shape':[2,2],'long_name':'x','valid_min':1.5,'ok':true,'n':null,'a=b'"
                                     ":{'c':[1]},'coordinates':'x y','big':9007199254740993}");
    static const char *const expected[] = {"long_name=x", "valid_min=1.5", "ok=true", "n=null",
                                           "big=9007199254740993"}; /* and none for "a=b", which no item can carry */
    for (int i = 0; CHECK(m.metadata != NULL) && i < 5; i++)
        CHECK_EQ_STR(m.metadata[i], expected[i]);
    CHECK(m.metadata == NULL || m.metadata[5] == NULL);
    zs_band_properties_clear(&m);
}

int main(void)
{
    RUN(test_fill_value_attribute_in_each_encoding);
    RUN(test_sources_of_nodata_in_order);
    RUN(test_nodata_keeps_every_bit);
    RUN(test_scale_units_and_names);
    RUN(test_categories);
    RUN(test_other_attributes_are_metadata);
    close_store(&s);
    return check_result();
}
