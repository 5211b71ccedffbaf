/* certify_tables.h: tables of ops "relu" and "add" of f32 for the tests of the
 * certification runner. Of relu's configs "is=NAME" all but is=right are wrong,
 * each in the way that its kernel's name says. Kernels of the tiers sm80 and
 * sm90, "cuda_NAME", are functions of the program, which the emulated driver
 * finds there. Of add's, on the cpu alone, is=sums is right.
 */
#ifndef KILN_TESTS_CERTIFY_TABLES_H
#define KILN_TESTS_CERTIFY_TABLES_H

#include "internal.h"

/* A set-up of a cmocka group: completes kiln_generated_tables. */
int certify_tables_init(void **state);

#endif /* KILN_TESTS_CERTIFY_TABLES_H */
