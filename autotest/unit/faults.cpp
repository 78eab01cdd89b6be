#include "faults.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <atomic>
#include <new>

#include <cpl_vsi.h>

namespace
{
std::atomic<int> armed{-1}; // a fault_kind
std::atomic<long> calls{0};
long failAt;
bool failOn;

bool fails(enum fault_kind kind)
{
    if (armed.load() != kind)
        return false;
    const long number = calls.fetch_add(1) + 1;
    return failAt != 0 && (number == failAt || (failOn && number > failAt));
}

bool fileFails()
{
    const bool failed = fails(FAULT_FILES);
    if (failed)
        errno = EIO;
    return failed;
}
} // namespace

void faults_begin(enum fault_kind kind, long n, int on)
{
    calls = 0;
    failAt = n;
    failOn = on != 0;
    armed = kind;
}

long faults_end(void)
{
    armed = -1;
    return calls;
}

/* A function that fails with `failure`, else is the real one. */
#define WRAP(result, name, parameters, arguments, failing, failure)   \
    result __real_##name parameters;                                  \
    result __wrap_##name parameters;                                  \
    result __wrap_##name parameters                                   \
    {                                                                 \
        return (failing) ? (failure) : __real_##name arguments;       \
    }

extern "C"
{
WRAP(void *, malloc, (size_t n), (n), fails(FAULT_MEMORY), nullptr)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), fails(FAULT_MEMORY), nullptr)
WRAP(void *, realloc, (void *p, size_t n), (p, n), fails(FAULT_MEMORY), nullptr)
WRAP(void *, aligned_alloc, (size_t a, size_t n), (a, n), fails(FAULT_MEMORY), nullptr)
WRAP(void *, _Znwm, (size_t n), (n), fails(FAULT_MEMORY), throw std::bad_alloc()) // operator new
WRAP(void *, _Znam, (size_t n), (n), fails(FAULT_MEMORY), throw std::bad_alloc())

WRAP(VSILFILE *, VSIFOpenL, (const char *path, const char *mode), (path, mode), fileFails(), nullptr)
WRAP(VSILFILE *, VSIFOpenExL, (const char *path, const char *mode, int e), (path, mode, e), fileFails(), nullptr)
WRAP(size_t, VSIFReadL, (void *p, size_t n, size_t m, VSILFILE *f), (p, n, m, f), fileFails(), 0)
WRAP(size_t, VSIFWriteL, (const void *p, size_t n, size_t m, VSILFILE *f), (p, n, m, f), fileFails(), 0)
WRAP(int, VSIFSeekL, (VSILFILE * f, vsi_l_offset at, int whence), (f, at, whence), fileFails(), -1)
WRAP(int, VSIRename, (const char *from, const char *to), (from, to), fileFails(), -1)
WRAP(int, VSIUnlink, (const char *path), (path), fileFails(), -1)
WRAP(int, VSIMkdir, (const char *path, long mode), (path, mode), fileFails(), -1)
WRAP(int, VSIRmdir, (const char *path), (path), fileFails(), -1)
WRAP(VSIDIR *, VSIOpenDir, (const char *path, int depth, const char *const *o), (path, depth, o), fileFails(), nullptr)

/* A file that cannot be closed has lost what was written, and is closed. */
int __real_VSIFCloseL(VSILFILE *f);
int __wrap_VSIFCloseL(VSILFILE *f);
int __wrap_VSIFCloseL(VSILFILE *f)
{
    const bool failed = fileFails();
    const int result = __real_VSIFCloseL(f);
    return failed ? -1 : result;
}
}
