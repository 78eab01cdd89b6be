/* fault_vsi.h: a GDAL virtual file system over /vsimem/ whose calls fail as told: "/vsifault/a" is
 * "/vsimem/fault/a". */
#ifndef FAULT_VSI_H
#define FAULT_VSI_H

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int open_errno;     /* opening fails with it; -1: without a reason */
    bool fail_stat;
    bool fail_unlink;
    long read_limit;    /* bytes that all reads together give; -1: all */
} fault_vsi;

static inline const char *fault_vsi_path(const char *name)
{
    static _Thread_local char path[1024];
    snprintf(path, sizeof path, "/vsimem/fault/%s", name);
    return path;
}

static inline void *fault_vsi_open(void *user, const char *name, const char *access)
{
    (void)user;
    if (fault_vsi.open_errno != 0) {
        errno = fault_vsi.open_errno > 0 ? fault_vsi.open_errno : 0;
        return NULL;
    }
    return VSIFOpenL(fault_vsi_path(name), access);
}

static inline int fault_vsi_stat(void *user, const char *name, VSIStatBufL *st, int flags)
{
    (void)user;
    return fault_vsi.fail_stat ? -1 : VSIStatExL(fault_vsi_path(name), st, flags);
}

static inline int fault_vsi_unlink(void *user, const char *name)
{
    (void)user;
    return fault_vsi.fail_unlink ? -1 : VSIUnlink(fault_vsi_path(name));
}

static inline char **fault_vsi_read_dir(void *user, const char *name, int most)
{
    (void)user;
    return fault_vsi.fail_stat ? NULL : VSIReadDirEx(fault_vsi_path(name), most);
}

static inline vsi_l_offset fault_vsi_tell(void *file)
{
    return VSIFTellL(file);
}

static inline int fault_vsi_seek(void *file, vsi_l_offset offset, int whence)
{
    return VSIFSeekL(file, offset, whence);
}

static inline size_t fault_vsi_read(void *file, void *data, size_t size, size_t n)
{
    if (fault_vsi.read_limit >= 0 && (long)(size * n) > fault_vsi.read_limit) {
        size = 1;
        n = (size_t)fault_vsi.read_limit;
    }
    const size_t got = VSIFReadL(data, size, n, file);
    if (fault_vsi.read_limit >= 0)
        fault_vsi.read_limit -= (long)(size * got);
    return got;
}

static inline size_t fault_vsi_write(void *file, const void *data, size_t size, size_t n)
{
    return VSIFWriteL(data, size, n, file);
}

static inline int fault_vsi_close(void *file)
{
    return VSIFCloseL(file);
}

static inline void fault_vsi_reset(void)
{
    memset(&fault_vsi, 0, sizeof fault_vsi);
    fault_vsi.read_limit = -1;
}

static inline void fault_vsi_install(void)
{
    static bool is_installed;
    fault_vsi_reset();
    if (is_installed)
        return;
    is_installed = true;
    VSIFilesystemPluginCallbacksStruct *callbacks = VSIAllocFilesystemPluginCallbacksStruct();
    callbacks->open = fault_vsi_open;
    callbacks->stat = fault_vsi_stat;
    callbacks->unlink = fault_vsi_unlink;
    callbacks->read_dir = fault_vsi_read_dir;
    callbacks->tell = fault_vsi_tell;
    callbacks->seek = fault_vsi_seek;
    callbacks->read = fault_vsi_read;
    callbacks->write = fault_vsi_write;
    callbacks->close = fault_vsi_close;
    VSIInstallPluginHandler("/vsifault/", callbacks);
    VSIFreeFilesystemPluginCallbacksStruct(callbacks);
}

#endif
