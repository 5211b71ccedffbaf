/* san.h: what a sanitizer must hear about threads that are no threads.
 *
 * AddressSanitizer is found by the compiler's own macro. For
 * ThreadSanitizer the engine is compiled without instrumentation and with
 * KILN_EMU_TSAN defined: what the engine does to a kernel's memory must not
 * count as an access of the thread it happens to run on. Only copies that the
 * kernel asked for are told, through emu_san_copy.
 */
#ifndef KILN_EMU_SAN_H
#define KILN_EMU_SAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KILN_EMU_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define KILN_EMU_ASAN 1
#endif

#ifdef KILN_EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef KILN_EMU_TSAN
#include <sanitizer/tsan_interface.h>
/* No_sync: a switch of fibers orders nothing, only barriers do. */
#define EMU_TSAN_NO_SYNC 1u
/* Exported by the run-time library, in no header. */
void __tsan_read_range(void *address, unsigned long bytes);
void __tsan_write_range(void *address, unsigned long bytes);
#endif

/* Orders what this thread did before with those that acquire `what`. */
static inline void emu_san_release(void *what)
{
#ifdef KILN_EMU_TSAN
    __tsan_release(what);
#else
    (void)what;
#endif
}

static inline void emu_san_acquire(void *what)
{
#ifdef KILN_EMU_TSAN
    __tsan_acquire(what);
#else
    (void)what;
#endif
}

/* Bytes that an asynchronous copy will write: a read is an error until
 * emu_san_landed. AddressSanitizer knows groups of 8 bytes; smaller targets
 * rest on the poison pattern alone. */
static inline void emu_san_in_flight(void *target, size_t bytes)
{
#ifdef KILN_EMU_ASAN
    if (((uintptr_t)target | bytes) % 8 == 0) {
        __asan_poison_memory_region(target, bytes);
    }
#else
    (void)target;
    (void)bytes;
#endif
}

static inline void emu_san_landed(void *target, size_t bytes)
{
#ifdef KILN_EMU_ASAN
    if (((uintptr_t)target | bytes) % 8 == 0) {
        __asan_unpoison_memory_region(target, bytes);
    }
#else
    (void)target;
    (void)bytes;
#endif
}

/* memcpy of which ThreadSanitizer sees one end, the kernel's memory; the other
 * is the engine's own. */
static inline void emu_san_unseen(void *to, const void *from, size_t bytes)
{
#ifdef KILN_EMU_TSAN
    __asm__ volatile("rep movsb"
                     : "+D"(to), "+S"(from), "+c"(bytes)
                     :
                     : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

static inline void emu_san_read(void *own, const void *from, size_t bytes)
{
#ifdef KILN_EMU_TSAN
    __tsan_read_range((void *)(uintptr_t)from, bytes);
#endif
    emu_san_unseen(own, from, bytes);
}

static inline void emu_san_write(void *to, const void *own, size_t bytes)
{
#ifdef KILN_EMU_TSAN
    __tsan_write_range(to, bytes);
#endif
    emu_san_unseen(to, own, bytes);
}

/* Fills memory unseen: neither an access to ThreadSanitizer, which watches
 * memset, nor slow. */
static inline void emu_san_fill(void *memory, int byte, size_t bytes)
{
#ifdef KILN_EMU_TSAN
    __asm__ volatile("rep stosb"
                     : "+D"(memory), "+c"(bytes)
                     : "a"(byte)
                     : "memory");
#else
    memset(memory, byte, bytes);
#endif
}

static inline void emu_san_write_fill(void *to, int byte, size_t bytes)
{
#ifdef KILN_EMU_TSAN
    __tsan_write_range(to, bytes);
#endif
    emu_san_fill(to, byte, bytes);
}

#endif /* KILN_EMU_SAN_H */
