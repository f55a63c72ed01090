// Life marks: they tell Standstill what a pool of records does with its memory, as malloc and free tell it of others.
//
//     STANDSTILL_FREED(&pool[slot], sizeof pool[slot]);        // before the slot may be taken again
//     STANDSTILL_ALLOCATED(&pool[slot], sizeof pool[slot]);    // when it is taken
//
// Operation marks: they tell where an operation of a structure that threads share begins and ends, so that `standstill explore`
// can say whether what the operations give could be given one after the other (linearizability).
//
//     STANDSTILL_BEGINS(stack_push, &stack, value);            // before the first access that belongs to it
//     STANDSTILL_ENDS(0);                                      // behind the last one, with what it gives
//     STANDSTILL_BEGINS(stack_pop, &stack);
//     STANDSTILL_ENDS(value);                                  // -1 stands for nothing: the stack was empty
//     STANDSTILL_HELD(stack_push, &stack, value);              // at the kernel's start: the stack holds it from before
//
// A mark is arithmetic whose result nobody uses, into a register with a name: the name is still in the PTX of an
// executable, where comments are not, and ptxas leaves the arithmetic out, so that a mark costs nothing on the card.
#ifndef STANDSTILL_H
#define STANDSTILL_H

#if defined(__CUDA_ARCH__)
#define STANDSTILL_LIFE_MARK(what, pointer, bytes)                                                                     \
    asm volatile("{ .reg .b64 standstill_" #what ";\n\tadd.u64 standstill_" #what ", %0, %1; }"                        \
                 :                                                                                                     \
                 : "l"((unsigned long long)(pointer)), "l"((unsigned long long)(bytes))                                \
                 : "memory")
#define STANDSTILL_OPERATION_MARK(what, pointer, first, second)                                                        \
    asm volatile("{ .reg .b64 standstill_" #what ";\n\tmad.lo.u64 standstill_" #what ", %0, %1, %2; }"                 \
                 :                                                                                                     \
                 : "l"((unsigned long long)(pointer)), "l"((long long)(first)), "l"((long long)(second))               \
                 : "memory")
#define STANDSTILL_END_MARK(result)                                                                                    \
    asm volatile("{ .reg .b64 standstill_ends;\n\tmov.b64 standstill_ends, %0; }" : : "l"((long long)(result)) : "memory")
#else
#define STANDSTILL_LIFE_MARK(what, pointer, bytes) ((void)(pointer), (void)(bytes))
#define STANDSTILL_OPERATION_MARK(what, pointer, first, second) ((void)(pointer), (void)(first), (void)(second))
#define STANDSTILL_END_MARK(result) ((void)(result))
#endif

/// Nobody may use these bytes any more.
#define STANDSTILL_FREED(pointer, bytes) STANDSTILL_LIFE_MARK(freed, pointer, bytes)
/// The calling thread has taken these bytes, which were free.
#define STANDSTILL_ALLOCATED(pointer, bytes) STANDSTILL_LIFE_MARK(allocated, pointer, bytes)

/// An operation of the structure at this address begins, with up to two arguments: register_read, register_write (value),
/// register_swap (expected, new; gives the value from before), counter_add (amount), counter_fetch_add (amount; gives the value
/// from before), counter_get, stack_push (value), stack_pop, queue_push (value), queue_pop, set_insert, set_remove and
/// set_contains (key; give 1 or 0), map_put (key, value), map_get (key), map_remove (key; gives 1 or 0). Reads of what is not
/// there give -1.
#define STANDSTILL_BEGINS(...) STANDSTILL_WITH_ARGUMENTS(begins, __VA_ARGS__, 0, 0, 0)
/// The operation that the calling thread began last ends, and gives this; anything where it gives nothing.
#define STANDSTILL_ENDS(result) STANDSTILL_END_MARK(result)
/// The structure holds from before the launch what this operation would have made of it. By one thread, before its first access.
#define STANDSTILL_HELD(...) STANDSTILL_WITH_ARGUMENTS(held, __VA_ARGS__, 0, 0, 0)
#define STANDSTILL_WITH_ARGUMENTS(mark, operation, pointer, first, second, ...)                                        \
    STANDSTILL_OPERATION_MARK(mark##_##operation, pointer, first, second)

#endif
