// Life marks: they tell Standstill what a pool of records does with its memory, as malloc and free tell it of others.
//
//     STANDSTILL_FREED(&pool[slot], sizeof pool[slot]);        // before the slot may be taken again
//     STANDSTILL_ALLOCATED(&pool[slot], sizeof pool[slot]);    // when it is taken
//
// A mark is an addition whose result nobody uses, into a register with a name: the name is still in the PTX of an
// executable, where comments are not, and ptxas leaves the addition out, so that a mark costs nothing on the card.
#ifndef STANDSTILL_H
#define STANDSTILL_H

#if defined(__CUDA_ARCH__)
#define STANDSTILL_LIFE_MARK(what, pointer, bytes)                                                                     \
    asm volatile("{ .reg .b64 standstill_" #what ";\n\tadd.u64 standstill_" #what ", %0, %1; }"                        \
                 :                                                                                                     \
                 : "l"((unsigned long long)(pointer)), "l"((unsigned long long)(bytes))                                \
                 : "memory")
#else
#define STANDSTILL_LIFE_MARK(what, pointer, bytes) ((void)(pointer), (void)(bytes))
#endif

/// Nobody may use these bytes any more.
#define STANDSTILL_FREED(pointer, bytes) STANDSTILL_LIFE_MARK(freed, pointer, bytes)
/// The calling thread has taken these bytes, which were free.
#define STANDSTILL_ALLOCATED(pointer, bytes) STANDSTILL_LIFE_MARK(allocated, pointer, bytes)

#endif
