/* Preloaded into a gateway: syncs fail with EIO while $FAIL_SYNC exists. If it is a file and no folder, it is removed by the first
 * one that fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(void)
{
    const char *path = getenv("FAIL_SYNC");
    return path != NULL && (unlink(path) == 0 || access(path, F_OK) == 0);
}

static int sync_by(const char *name, int file)
{
    if (fails()) {
        errno = EIO;
        return -1;
    }
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fdatasync(int file)
{
    return sync_by("fdatasync", file);
}

int fsync(int file)
{
    return sync_by("fsync", file);
}
