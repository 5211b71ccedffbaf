#define _GNU_SOURCE
#include "lie.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int lying;
static atomic_long mallocs;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void lie_set(lie_kind kind)
{
    atomic_store(&lying, (int)kind);
}

long lie_not_sysconf(int name)
{
    return __real_sysconf(name);
}

long lie_mallocs(void)
{
    return atomic_load(&mallocs);
}

long __wrap_sysconf(int name)
{
    switch (atomic_load(&lying)) {
    case LIE_ZERO:
        return 0;
    case LIE_ERROR:
        return -1;
    default:
        return __real_sysconf(name);
    }
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    switch (atomic_load(&lying)) {
    case LIE_ZERO:
        memset(set, 0, size);
        return 0;
    case LIE_ERROR:
        errno = EINVAL;
        return -1;
    default:
        return __real_sched_getaffinity(pid, size, set);
    }
}

void *__wrap_malloc(size_t bytes)
{
    atomic_fetch_add(&mallocs, 1);
    return __real_malloc(bytes);
}
