/* choose.h: the tables that serve a CUDA device. */
#ifndef KILN_CUDA_CHOOSE_H
#define KILN_CUDA_CHOOSE_H

#include "cuda.h"

typedef struct kiln_cuda_choice {
    const kiln_tier_table *table;
    const kiln_arch *arch;
    bool forced; /* options chose what the device would not get */
} kiln_cuda_choice;

/* Whether the tables hold anything for CUDA devices. */
bool kiln_cuda_has_tables(const kiln_tables *tables);

/* The device gets the profile of its exact chip, else the best of its class:
 * the same major capability, and no more capability or shared memory than it
 * has. tier and profile (NULL: not given) force another that it can hold. */
kiln_status kiln_cuda_choose(const kiln_tables *tables,
                             const kiln_cuda_facts *facts, const char *tier,
                             const char *profile, kiln_cuda_choice *choice,
                             kiln_error *err);

#endif /* KILN_CUDA_CHOOSE_H */
