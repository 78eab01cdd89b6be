/* gdal/compat.h: what differs between GDAL 3.6 and 3.14 for a raster driver, in one place. */
#pragma once

#include <gdal_pam.h>
#include <gdal_priv.h>

#if GDAL_VERSION_NUM < GDAL_COMPUTE_VERSION(3, 6, 0)
#error "GDAL 3.6 or later is needed"
#endif

#define ZS_GDAL_AT_LEAST(minor) (GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, minor, 0))

/* 3.7: FlushCache() and closing report failures. */
#if ZS_GDAL_AT_LEAST(7)
typedef CPLErr ZSFlushResult;
#define ZS_FLUSH_RETURN(err) return (err)
#else
typedef void ZSFlushResult;
#define ZS_FLUSH_RETURN(err) static_cast<void>(err)
#endif

/* What a side-car file is read from: const in later ones. */
struct ZSPamProbe : GDALPamDataset
{
    template <class T> static T Argument(CPLErr (GDALPamDataset::*)(T, const char *));
    using Tree = decltype(Argument(&ZSPamProbe::XMLInit));
};
using ZSPamTree = ZSPamProbe::Tree;

/* 3.7 and 3.11: data types. */
#if ZS_GDAL_AT_LEAST(7)
#define ZS_GDT_INT8 GDT_Int8
#else
#define ZS_GDT_INT8 GDT_Int16
#endif
#if ZS_GDAL_AT_LEAST(11)
#define ZS_GDT_FLOAT16 GDT_Float16
#else
#define ZS_GDT_FLOAT16 GDT_Float32
#endif

/* 3.7: closing is a call of its own; 3.13 gives it progress. */
#if ZS_GDAL_AT_LEAST(13)
#define ZS_CLOSE_PARAMETERS GDALProgressFunc progress, void *progressData
#define ZS_CLOSE_DEFAULTS GDALProgressFunc progress = nullptr, void *progressData = nullptr
#define ZS_CLOSE_ARGUMENTS progress, progressData
#else
#define ZS_CLOSE_PARAMETERS
#define ZS_CLOSE_DEFAULTS
#define ZS_CLOSE_ARGUMENTS
#endif

/* 3.9: const band maps. */
#ifndef BANDMAP_TYPE
#define BANDMAP_TYPE int *
#endif

/* 3.12: geotransforms are a class, and reading one is const. */
#if ZS_GDAL_AT_LEAST(12)
#define ZS_GET_GEOTRANSFORM_ARG GDALGeoTransform &
#define ZS_SET_GEOTRANSFORM_ARG const GDALGeoTransform &
#define ZS_GEOTRANSFORM_CONST const
#else
#define ZS_GET_GEOTRANSFORM_ARG double *
#define ZS_SET_GEOTRANSFORM_ARG double *
#define ZS_GEOTRANSFORM_CONST
#endif
/* Six numbers; false where a dataset has none. */
inline bool zsReadTransform(GDALDataset &dataset, double *numbers)
{
#if ZS_GDAL_AT_LEAST(12)
    GDALGeoTransform transform;
#else
    double transform[6];
#endif
    if (dataset.GetGeoTransform(transform) != CE_None)
        return false;
    for (int i = 0; i < 6; i++)
        numbers[i] = transform[i];
    return true;
}

/* 3.13: string lists are const. */
#if ZS_GDAL_AT_LEAST(13)
typedef CSLConstList ZSMetadata;
typedef CSLConstList ZSCreateOptions;
typedef CSLConstList ZSMetadataArg;
#else
typedef char **ZSMetadata;
typedef char **ZSCreateOptions;
typedef char **ZSMetadataArg;
#endif
