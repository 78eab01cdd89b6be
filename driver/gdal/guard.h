/* gdal/guard.h: no exception leaves this driver: GDAL's callers are often C, and lack of memory is an error as others
 * are. */
#pragma once

#include <exception>
#include <memory>
#include <type_traits>

#include "compat.h"

/* Owns what a C function returned, and releases it with `release`, also when an exception passes. */
template <class T> using ZSOwned = std::unique_ptr<T, void (*)(T *)>;

/* While it lives, errors are not shown, and do not replace the caller's last one. */
class ZSQuiet
{
    CPLErrorStateBackuper m_backup;
    CPLErrorHandlerPusher m_quiet;

  public:
    ZSQuiet() : m_quiet(CPLQuietErrorHandler)
    {
    }
};

/* A part of a caller's progress, as GDALScaledProgress() with its data Part(). */
class ZSScaledProgress
{
    ZSOwned<void> m_part;

  public:
    ZSScaledProgress(double from, double to, GDALProgressFunc progress, void *progressData)
        : m_part(GDALCreateScaledProgress(from, to, progress, progressData), GDALDestroyScaledProgress)
    {
    }
    void *Part() const
    {
        return m_part.get();
    }
};

/* Returns f(); when it throws, emits a CPLError and returns the failure of its type: CE_Failure, null, 0, false. */
template <class F> auto zsGuard(F &&f) -> decltype(f())
{
    using Result = decltype(f());
    try
    {
        return f();
    }
    catch (const std::exception &e)
    {
        CPLError(CE_Failure, CPLE_OutOfMemory, "ShardedZarr: out of memory (%s)", e.what());
    }
    if constexpr (std::is_same_v<Result, CPLErr>)
        return CE_Failure;
    else if constexpr (!std::is_void_v<Result>)
        return Result{};
}

/* The same function, guarded: ZSGuarded<zsOpen>::Call. */
template <auto F> struct ZSGuarded;
template <class Result, class... Arguments, Result (*F)(Arguments...)> struct ZSGuarded<F>
{
    static Result Call(Arguments... arguments)
    {
        return zsGuard([&] { return F(arguments...); });
    }
};
