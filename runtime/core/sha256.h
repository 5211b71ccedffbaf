/* sha256.h: SHA-256 as FIPS 180-4 defines it. */
#ifndef KILN_CORE_SHA256_H
#define KILN_CORE_SHA256_H

#include <stddef.h>

/* Writes the digest of data[0 .. n) as 64 lower-case digits and a NUL. data
 * may be NULL when n is 0. Never fails. */
void kiln_sha256_hex(const void *data, size_t n, char hex[65]);

#endif /* KILN_CORE_SHA256_H */
