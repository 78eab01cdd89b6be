#include "geo/conventions.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>

#include "base/memory.h"

void zs_quiet_begin(struct zs_quiet *quiet)
{
    quiet->type = CPLGetLastErrorType();
    quiet->number = CPLGetLastErrorNo();
    quiet->message = zs_strdup(CPLGetLastErrorMsg());
    CPLPushErrorHandler(CPLQuietErrorHandler);
}

void zs_quiet_end(struct zs_quiet *quiet)
{
    CPLPopErrorHandler();
    CPLErrorSetState(quiet->type, quiet->number, quiet->message != NULL ? quiet->message : "");
    free(quiet->message);
}

/* Hands out `srs` when the import went well, else releases it. */
static OGRSpatialReferenceH finish(OGRSpatialReferenceH srs, OGRErr result)
{
    if (srs != NULL && result != OGRERR_NONE) {
        OSRRelease(srs);
        return NULL;
    }
    if (srs != NULL)
        OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    return srs;
}

typedef OGRErr (*import_fn)(OGRSpatialReferenceH srs, const char *text);

static OGRSpatialReferenceH import_text(const char *text, import_fn import)
{
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    srs = finish(srs, srs != NULL ? import(srs, text) : OGRERR_NOT_ENOUGH_MEMORY);
    zs_quiet_end(&quiet);
    return srs;
}

OGRSpatialReferenceH zs_crs_from_code(const char *code)
{
    /* OSRSetFromUserInput() also opens files and URLs: only "AUTHORITY:CODE" of harmless characters may reach it. */
    const char *colon = code != NULL ? strchr(code, ':') : NULL;
    if (colon == NULL || colon == code || colon[1] == '\0' || strlen(code) > 64)
        return NULL;
    for (const char *p = code; *p != '\0'; p++)
        if (!((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || strchr("_-.", *p) ||
              p == colon))
            return NULL;
    return import_text(code, OSRSetFromUserInput);
}

OGRSpatialReferenceH zs_crs_from_epsg(int64_t code)
{
    char text[40];
    if (code <= 0)
        return NULL;
    snprintf(text, sizeof text, "EPSG:%lld", (long long)code);
    return zs_crs_from_code(text);
}

static OGRErr import_wkt(OGRSpatialReferenceH srs, const char *text)
{
    char *cursor = (char *)(uintptr_t)text; /* the function moves this pointer, and does not write */
    return OSRImportFromWkt(srs, &cursor);
}

OGRSpatialReferenceH zs_crs_from_wkt(const char *wkt)
{
    if (wkt == NULL || strchr(wkt, '[') == NULL)
        return NULL;
    return import_text(wkt, import_wkt);
}

static OGRSpatialReferenceH from_projjson(const zs_json *object)
{
    char *printed = zs_json_is_object(object) ? zs_json_print(object) : NULL;
    const char *text = printed;
    if (printed == NULL)
        zs_json_string(object, &text);
    OGRSpatialReferenceH srs = NULL;
    /* A text that begins so is read as PROJJSON, never as the name of a file. */
    if (text != NULL && text[0] == '{' && strstr(text, "\"type\"") != NULL)
        srs = import_text(text, OSRSetFromUserInput);
    free(printed);
    return srs;
}

/* OGC's URL or URN, AUTHORITY/VERSION/CODE, is turned into a code: OSR fetches what it does not know. */
static OGRSpatialReferenceH from_url(const char *url)
{
    static const char path[] = "opengis.net/def/crs/", urn[] = "urn:ogc:def:crs:";
    const char *at = strstr(url, path);
    if (at == NULL && strncmp(url, urn, strlen(urn)) != 0)
        return NULL;
    at = at != NULL ? at + strlen(path) : url + strlen(urn);
    const size_t authority = strcspn(at, "/:");
    size_t end = strlen(at);
    while (end > 0 && at[end - 1] == '/')
        end--;
    size_t code = end;
    while (code > 0 && at[code - 1] != '/' && at[code - 1] != ':')
        code--;
    char text[80];
    if (authority > 31 || end - code > 31)
        return NULL;
    snprintf(text, sizeof text, "%.*s:%.*s", (int)authority, at, (int)(end - code), at + code);
    return zs_crs_from_code(text);
}

OGRSpatialReferenceH zs_crs_from_proj_string(const char *text)
{
    return import_text(text, OSRImportFromProj4);
}

OGRSpatialReferenceH zs_crs_from_json(const zs_json *member)
{
    const char *text = NULL;
    OGRSpatialReferenceH srs = NULL;
    if (zs_json_one_text(member, &text) && (srs = zs_crs_from_wkt(text)) == NULL &&
        (srs = zs_crs_from_code(text)) == NULL)
        srs = from_url(text);
    return srs != NULL ? srs : from_projjson(member);
}

char *zs_crs_to_wkt(OGRSpatialReferenceH srs, const char *format)
{
    const char *const options[] = {format, NULL};
    char *wkt = NULL;
    struct zs_quiet quiet;
    zs_quiet_begin(&quiet);
    if (OSRExportToWktEx(srs, &wkt, options) != OGRERR_NONE || (wkt != NULL && wkt[0] == '\0')) {
        CPLFree(wkt);
        wkt = NULL;
    }
    zs_quiet_end(&quiet);
    return wkt;
}

bool zs_crs_is_same(OGRSpatialReferenceH a, OGRSpatialReferenceH b)
{
    /* The order of axes in data is our own business: both CRS are read in traditional order. No convention keeps
     * epochs. */
    const char *const options[] = {"IGNORE_DATA_AXIS_TO_SRS_AXIS_MAPPING=YES", "IGNORE_COORDINATE_EPOCH=YES", NULL};
    struct zs_quiet quiet;
    if (a == NULL || b == NULL)
        return a == b;
    zs_quiet_begin(&quiet);
    const bool is_same = OSRIsSameEx(a, b, options);
    zs_quiet_end(&quiet);
    return is_same;
}

char *zs_crs_to_code(OGRSpatialReferenceH srs)
{
    const char *authority = OSRGetAuthorityName(srs, NULL), *code = OSRGetAuthorityCode(srs, NULL);
    if (authority == NULL || code == NULL)
        return NULL;
    char *text = zs_format("%s:%s", authority, code);
    OGRSpatialReferenceH again = text != NULL ? zs_crs_from_code(text) : NULL;
    const bool is_same = again != NULL && zs_crs_is_same(srs, again);
    if (again != NULL)
        OSRRelease(again);
    if (!is_same) {
        free(text);
        return NULL;
    }
    return text;
}
