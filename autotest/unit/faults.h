/* faults.h: the n-th call that this plugin makes of one kind fails. Only calls from the plugin's own code count (ld's
 * --wrap, see CMakeLists.txt), not those within GDAL: so a test can go through every n and see what the plugin makes of
 * each. */
#ifndef FAULTS_H
#define FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

enum fault_kind {
    FAULT_MEMORY, /* malloc() and its kin give NULL, operator new throws */
    FAULT_FILES   /* calls of GDAL's virtual file systems that read, write, rename, remove or make */
};

/* From now on call n of that kind (from 1) fails, and with `on` all after it. n = 0: they are only counted. */
void faults_begin(enum fault_kind kind, long n, int on);
/* Back to normal. Returns how many calls there were. */
long faults_end(void);

#ifdef __cplusplus
}
#endif

#endif
