/* fiber.h: stacks, and the switch between them (x86-64, System V ABI).
 *
 * A fiber is a stack with a guard page below it. It is made once and started
 * many times: a kernel's thread runs on it from its start to its end, then
 * the next block's. In a ThreadSanitizer build a fiber is a thread of its own
 * to the sanitizer, and stays the same one, so that its stack has one owner.
 */
#ifndef KILN_EMU_FIBER_H
#define KILN_EMU_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct emu_fiber {
    void *sp;      /* where it stopped */
    char *low;     /* lowest byte of the stack, above the guard page */
    size_t bytes;  /* of the stack */
    void *fake;    /* AddressSanitizer's second stack while stopped */
    void *tsan;    /* ThreadSanitizer's fiber */
    size_t launch; /* the launch that this fiber last heard of */
} emu_fiber;

/* Makes a stack. False: the system gave no memory. */
bool emu_fiber_make(emu_fiber *fiber);

/* Takes the running thread as a fiber, to be switched back to. */
void emu_fiber_adopt(emu_fiber *fiber);

/* Sets the fiber to call start(), which never returns, when switched to.
 * Fibers of different colours use different sets of a cache. */
void emu_fiber_start(emu_fiber *fiber, unsigned colour, void (*start)(void));

void emu_fiber_switch(emu_fiber *from, emu_fiber *to);

/* Switches for good: what is on the old stack is given up. */
void emu_fiber_quit(emu_fiber *from, emu_fiber *to);

/* First thing to call in a fiber that was started. adopted: the adopted fiber
 * when the switch came from there, so that its stack is learned; else NULL. */
void emu_fiber_entered(emu_fiber *adopted);

/* Forgets what sanitizers hold of a stack that was given up half way. */
void emu_fiber_clean(emu_fiber *fiber);

/* Calls entry with a copy of the arguments where the ABI passes a structure
 * of more than 16 bytes: on the stack, right above the return address. bytes
 * is a multiple of 8. */
void emu_fiber_call(void (*entry)(void), const void *args, size_t bytes);

#endif /* KILN_EMU_FIBER_H */
