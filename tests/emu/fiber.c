#define _GNU_SOURCE
#include "fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#include "san.h"

#ifdef KILN_EMU_ASAN
#define STACK_BYTES ((size_t)256 << 10)
#else
#define STACK_BYTES ((size_t)128 << 10)
#endif
#define PAGE_BYTES ((size_t)4096)
/* Stacks that stop at the same offset in a page would all want the same few
 * lines of a cache. */
#define COLOURS 16u
#define COLOUR_BYTES 256u

/* swap: callee-saved registers to the old stack, its pointer to *save (rdi),
 * then the same backwards from the new stack (rsi).
 * call: the arguments (rsi, rdx bytes) to the stack, then entry (rdi). */
__asm__(".text\n"
        ".type emu_fiber_swap, @function\n"
        "emu_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emu_fiber_swap, . - emu_fiber_swap\n"
        ".globl emu_fiber_call\n"
        ".type emu_fiber_call, @function\n"
        "emu_fiber_call:\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    movq %rdi, %rax\n"
        "    movq %rdx, %rcx\n"
        "    subq %rdx, %rsp\n"
        "    andq $-128, %rsp\n"
        "    movq %rsp, %rdi\n"
        "    shrq $3, %rcx\n"
        "    cld\n"
        "    rep movsq\n"
        "    call *%rax\n"
        "    leave\n"
        "    ret\n"
        ".size emu_fiber_call, . - emu_fiber_call\n");

void emu_fiber_swap(void **save, void *sp);

bool emu_fiber_make(emu_fiber *fiber)
{
    char *memory =
        mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    (void)mprotect(memory, PAGE_BYTES, PROT_NONE);
    fiber->low = memory + PAGE_BYTES;
    fiber->bytes = STACK_BYTES;
    fiber->fake = NULL;
    fiber->launch = 0;
#ifdef KILN_EMU_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
    return true;
}

void emu_fiber_adopt(emu_fiber *fiber)
{
    *fiber = (emu_fiber){0};
#ifdef KILN_EMU_TSAN
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

/* The stack as swap leaves one: six registers, where to go, and a return
 * address of 0 above it, which ends a backtrace. The ABI wants the stack 8
 * bytes off a multiple of 16 where a function begins. */
void emu_fiber_start(emu_fiber *fiber, unsigned colour, void (*start)(void))
{
    char *top = fiber->low + fiber->bytes - 64 -
                (size_t)(colour % COLOURS) * COLOUR_BYTES;
    uint64_t *sp = (uint64_t *)(void *)top;
    *--sp = 0;
    *--sp = (uint64_t)(uintptr_t)start;
    for (int i = 0; i < 6; i++) {
        *--sp = 0;
    }
    fiber->sp = sp;
}

static void tell(emu_fiber *to, void **fake)
{
#ifdef KILN_EMU_ASAN
    __sanitizer_start_switch_fiber(fake, to->low, to->bytes);
#endif
#ifdef KILN_EMU_TSAN
    __tsan_switch_to_fiber(to->tsan, EMU_TSAN_NO_SYNC);
#endif
    (void)to;
    (void)fake;
}

void emu_fiber_switch(emu_fiber *from, emu_fiber *to)
{
    tell(to, &from->fake);
    emu_fiber_swap(&from->sp, to->sp);
#ifdef KILN_EMU_ASAN
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
}

void emu_fiber_quit(emu_fiber *from, emu_fiber *to)
{
    tell(to, NULL);
    emu_fiber_swap(&from->sp, to->sp);
}

void emu_fiber_entered(emu_fiber *adopted)
{
#ifdef KILN_EMU_ASAN
    const void *low = NULL;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(NULL, &low, &bytes);
    if (adopted) {
        adopted->low = (char *)(uintptr_t)low;
        adopted->bytes = bytes;
    }
#endif
    (void)adopted;
}

void emu_fiber_clean(emu_fiber *fiber)
{
#ifdef KILN_EMU_ASAN
    __asan_unpoison_memory_region(fiber->low, fiber->bytes);
#endif
#ifdef KILN_EMU_TSAN
    __tsan_destroy_fiber(fiber->tsan);
    fiber->tsan = __tsan_create_fiber(0);
#endif
    (void)fiber;
}
