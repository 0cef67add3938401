// A wrong clock for a program, by LD_PRELOAD: its date is behind, and its monotonic clock goes too fast. The part of the kernel that is
// mapped into each process is patched, because not all programs ask the C library.
//
// WRONG_CLOCK_BEHIND: seconds; WRONG_CLOCK_FAST: the share by which it is too fast, such as 0.02.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CLOCK_GETTIME "__vdso_clock_gettime"
// mov rax, TARGET; jmp rax
static const unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
#define TARGET 2
#elif defined(__aarch64__)
#define CLOCK_GETTIME "__kernel_clock_gettime"
// ldr x16, TARGET; br x16
static const unsigned char jump[] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0};
#define TARGET 8
#else
#error "an architecture that nobody has tried"
#endif

static int64_t behind_s, begun_ns;
static double fast;

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * INT64_C(1000000000) + time->tv_nsec; }

static int wrong_clock_gettime(clockid_t clock, struct timespec *time) {
    int before = errno;
    if (syscall(SYS_clock_gettime, clock, time) != 0) {
        int why = errno;
        errno = before;
        return -why;
    }
    if (clock == CLOCK_REALTIME) time->tv_sec -= behind_s;
    if (clock == CLOCK_MONOTONIC) {
        int64_t now_ns = nanoseconds(time);
        now_ns += (int64_t)((double)(now_ns - begun_ns) * fast);
        time->tv_sec = now_ns / 1000000000;
        time->tv_nsec = now_ns % 1000000000;
    }
    return 0;
}

static void fail(const char *what) {
    fprintf(stderr, "wrong_clock: %s: %s\n", what, strerror(errno));
    _exit(1);
}

// All of the mapping at once: the kernel does not split it.
static void make_writable(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) fail("/proc/self/maps");
    char line[512];
    uintptr_t from = 0, to = 0;
    while (fgets(line, sizeof line, maps)) {
        if (!strstr(line, "[vdso]")) continue;
        char *rest;
        from = strtoull(line, &rest, 16);
        to = strtoull(rest + 1, NULL, 16);
    }
    fclose(maps);
    if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) fail("mprotect");
}

__attribute__((constructor)) static void patch(void) {
    const char *behind = getenv("WRONG_CLOCK_BEHIND"), *by = getenv("WRONG_CLOCK_FAST");
    behind_s = behind ? atoll(behind) : 0;
    fast = by ? atof(by) : 0;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    begun_ns = nanoseconds(&now);
    void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    unsigned char *code = library ? dlsym(library, CLOCK_GETTIME) : NULL;
    if (!code) fail("there is no " CLOCK_GETTIME);
    make_writable();
    void *target = (void *)wrong_clock_gettime;
    memcpy(code, jump, sizeof jump);
    memcpy(code + TARGET, &target, sizeof target);
    __builtin___clear_cache((char *)code, (char *)code + sizeof jump);
}
