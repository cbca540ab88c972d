#include "fiber_switch.h"

#include <stddef.h>
#include <sys/auxv.h>

/* Used by the code below, which nobody looks into. */
__attribute__((used)) bool may_write_thread_pointer;

#if HAS_FIBERS

_Static_assert(offsetof(struct fiber, stack) == 0 && offsetof(struct fiber, thread_pointer) == 8 &&
                   offsetof(struct fiber, parked) == 16 && offsetof(struct fiber, released) == 20,
               "the offsets below");
_Static_assert(IS_PARKED == 1 && AWAITED == 2, "the numbers below");

/* Linux: the instruction wrfsbase may be used. */
#define HWCAP2_FSGSBASE 2

bool can_switch(void) {
    may_write_thread_pointer = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
    /* Where return addresses are kept a second time, in a shadow stack, this is not 0. */
    uint64_t shadow_stack = 0;
    __asm__ volatile("rdsspq %0" : "+r"(shadow_stack));
    return shadow_stack == 0;
}

uint64_t thread_pointer(void) {
    uint64_t found;
    __asm__("movq %%fs:0, %0" : "=r"(found));
    return found;
}

/* The System V calling convention: these belong to the caller, and the modes of the two units for
 * floating point with them. */
#define KEEP \
    "    pushq %rbp\n" \
    "    pushq %rbx\n" \
    "    pushq %r12\n" \
    "    pushq %r13\n" \
    "    pushq %r14\n" \
    "    pushq %r15\n" \
    "    subq $8, %rsp\n" \
    "    stmxcsr (%rsp)\n" \
    "    fnstcw 4(%rsp)\n" \
    "    movl (%rsp), %r8d\n" \
    "    movzwl 4(%rsp), %r9d\n" \
    "    movq %rsp, (%rdi)\n" \
    "    .cfi_def_cfa_offset 64\n"

/* Changing the modes takes longer than to see that they are mostly the same; %r8 and
 * %r9, which system calls leave alone, have those in force. */
#define RESTORE \
    "    cmpl (%rsp), %r8d\n" \
    "    jne 8f\n" \
    "    cmpw 4(%rsp), %r9w\n" \
    "    je 9f\n" \
    "8:  ldmxcsr (%rsp)\n" \
    "    fldcw 4(%rsp)\n" \
    "9:\n" \
    "    addq $8, %rsp\n" \
    "    popq %r15\n" \
    "    popq %r14\n" \
    "    popq %r13\n" \
    "    popq %r12\n" \
    "    popq %rbx\n" \
    "    popq %rbp\n" \
    "    .cfi_def_cfa_offset 8\n" \
    "    ret\n"

void take_over_modes(const struct fiber *fiber) {
    uint32_t *vector = fiber->stack;
    uint16_t *other = (uint16_t *)(vector + 1);
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(*vector), "=m"(*other));
}

/* To the stack and the thread pointer of %rsi: by the instruction, or by arch_prctl(ARCH_SET_FS). */
#define CHANGE_OVER \
    "    movq (%rsi), %rsp\n" \
    "    movq 8(%rsi), %rdx\n" \
    "    cmpb $0, may_write_thread_pointer(%rip)\n" \
    "    je 1f\n" \
    "    wrfsbase %rdx\n" \
    "    jmp 2f\n" \
    "1:  movq %rdi, %rbx\n" \
    "    movl $158, %eax\n" \
    "    movl $0x1002, %edi\n" \
    "    movq %rdx, %rsi\n" \
    "    syscall\n" \
    "    movq %rbx, %rdi\n" \
    "2:\n"

#define BEGIN_FUNCTION(name) \
    "    .globl " #name "\n" \
    "    .hidden " #name "\n" \
    "    .type " #name ", @function\n" \
    "    .p2align 4\n" \
    #name ":\n" \
    "    .cfi_startproc\n"

#define END_FUNCTION(name) \
    "    .cfi_endproc\n" \
    "    .size " #name ", . - " #name "\n"

__asm__(
    "    .text\n"
    BEGIN_FUNCTION(switch_registers)
    KEEP
    CHANGE_OVER
    RESTORE
    END_FUNCTION(switch_registers)

    BEGIN_FUNCTION(switch_and_release)
    KEEP
    CHANGE_OVER
    /* Nobody is on the stack that was left: released = 1, futex(&released, FUTEX_WAKE_PRIVATE, 1). */
    "    movl $1, 20(%rdi)\n"
    "    addq $20, %rdi\n"
    "    movl $129, %esi\n"
    "    movl $1, %edx\n"
    "    movl $202, %eax\n"
    "    syscall\n"
    RESTORE
    END_FUNCTION(switch_and_release)

    /* From the moment that it is parked its stack belongs to the carrier. */
    BEGIN_FUNCTION(park_registers)
    KEEP
    "    movq %rdi, %rbx\n"
    "    movl $1, %eax\n"
    "    xchgl %eax, 16(%rbx)\n"
    "    cmpl $2, %eax\n"
    "    jne 3f\n"
    "    leaq 16(%rbx), %rdi\n"
    "    movl $129, %esi\n"
    "    movl $1, %edx\n"
    "    movl $202, %eax\n"
    "    syscall\n"
    /* futex(&released, FUTEX_WAIT_PRIVATE, 0, NULL) */
    "3:  leaq 20(%rbx), %rdi\n"
    "    movl $128, %esi\n"
    "    xorl %edx, %edx\n"
    "    xorl %r10d, %r10d\n"
    "    movl $202, %eax\n"
    "    syscall\n"
    "    cmpl $0, 20(%rbx)\n"
    "    je 3b\n"
    "    movq (%rbx), %rsp\n"
    RESTORE
    END_FUNCTION(park_registers));

#else

#include <stdlib.h>

/* Nobody has written down how it is done on this processor. */
bool can_switch(void) { return false; }
uint64_t thread_pointer(void) { return 0; }
void switch_registers(struct fiber *from, const struct fiber *to) { (void)from, (void)to, abort(); }
void take_over_modes(const struct fiber *fiber) { (void)fiber; }
void switch_and_release(struct fiber *from, const struct fiber *to) {
    switch_registers(from, to);
}
void park_registers(struct fiber *own) { (void)own, abort(); }

#endif
