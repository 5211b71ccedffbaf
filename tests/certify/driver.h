/* driver.h: the CUDA driver that the runner works through. */
#ifndef KILN_TESTS_DRIVER_H
#define KILN_TESTS_DRIVER_H

#include "cuda/driver.h"

/* NULL, with the reason in *why (which stays): there is none. A program that
 * is to run on the CPU links another definition than driver.c's. */
const kiln_cuda_driver *certify_driver(const char **why);

#endif /* KILN_TESTS_DRIVER_H */
