#include "driver.h"

#include <stdbool.h>

/* Weak: tests/device/driver_emu.c, where it is linked, goes before it. */
__attribute__((weak)) const kiln_cuda_driver *certify_driver(const char **why)
{
    static kiln_cuda_driver driver;
    static kiln_error error;
    static enum { UNKNOWN, OPEN, ABSENT } state;

    if (state == UNKNOWN)
        state =
            kiln_cuda_driver_open(&driver, &error) == KILN_OK ? OPEN : ABSENT;
    *why = error.text;
    return state == OPEN ? &driver : NULL;
}
