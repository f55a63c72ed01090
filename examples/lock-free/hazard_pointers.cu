// Reclamation with hazard pointers: no slot is reused while a reader may still look at it.
//
// The list is [10 30 50] in slots 0, 1 and 2; slot 3 is free. A reader comes to slot 2 (key 50), another
// thread unlinks and frees it, a third needs a slot for key 99. The reader announces slot 2 in its hazard
// entry before it reads and looks at the link once more; the reclaimer scans the entries, finds slot 2
// there and takes slot 3. After the reader has cleared its entry, slot 2 may be reused.
//
//   hazard_pointers            the reader reads 50
//   hazard_pointers late       announced after the read: reads 99, MISMATCH, exit code 1
//   hazard_pointers none       never announced: reads 99, MISMATCH, exit code 1
#include "common.h"

constexpr int SLOTS = 4, READERS = 1, NOTHING = -1, LAST = 1, TARGET = 2, SPARE = 3;

struct Pool {
  int key[SLOTS], next[SLOTS];
  int hazard[READERS]; // written by its reader only
  int freed;           // a slot that waits to be reused, or NOTHING
  int read, taken_while_read, taken_after;
};

enum Protection { EARLY, LATE, NONE };

// A slot for a new key: the freed one when no reader has announced it, else the spare one.
__device__ int take_slot(Pool *pool) {
  int slot = atomicAdd(&pool->freed, 0);
  if (slot == NOTHING) return SPARE;
  __threadfence();
  for (int reader = 0; reader < READERS; ++reader)
    if (atomicAdd(&pool->hazard[reader], 0) == slot) return SPARE;
  atomicExch(&pool->freed, NOTHING);
  return slot;
}

__device__ void reader(Pool *pool, int *clock, Protection protection) {
  int slot;
  for (;;) {
    slot = atomicAdd(&pool->next[LAST], 0);
    if (protection != EARLY) break;
    atomicExch(&pool->hazard[0], slot);
    __threadfence();
    if (atomicAdd(&pool->next[LAST], 0) == slot) break; // still linked, so announced in time
  }
  end_turn(clock); // 0: the reader holds slot 2
  await_turn(clock, 3);
  int key = atomicAdd(&pool->key[slot], 0);
  if (protection == LATE) atomicExch(&pool->hazard[0], slot);
  pool->read = key;
  __threadfence();
  atomicExch(&pool->hazard[0], NOTHING);
  end_turn(clock); // 3: read, and given up
}

__device__ void unlinker(Pool *pool, int *clock) {
  await_turn(clock, 1);
  atomicCAS(&pool->next[LAST], TARGET, NOTHING);
  __threadfence();
  atomicExch(&pool->freed, TARGET);
  end_turn(clock); // 1: unlinked and freed
}

__device__ void inserter(Pool *pool, int *clock) {
  await_turn(clock, 2);
  int slot = take_slot(pool);
  atomicExch(&pool->key[slot], 99);
  pool->taken_while_read = slot;
  end_turn(clock); // 2: key 99 has a slot
  await_turn(clock, 4);
  pool->taken_after = take_slot(pool);
}

__global__ void three_threads(Pool *pool, int *clock, Protection protection) {
  switch (blockIdx.x) {
  case 0: reader(pool, clock, protection); break;
  case 1: unlinker(pool, clock); break;
  default: inserter(pool, clock); break;
  }
}

int main(int argc, char **argv) {
  Protection protection = asked_for(argc, argv, "none") ? NONE : asked_for(argc, argv, "late") ? LATE : EARLY;
  int exit_code = 0, zero[1] = {0};
  Pool pool[1] = {{{10, 30, 50, 0}, {1, 2, NOTHING, NOTHING}, {NOTHING}, NOTHING, 0, NOTHING, NOTHING}};
  int on_the_cpu = pool->key[pool->next[LAST]];
  OnDevice<Pool, 1> shared(pool);
  OnDevice<int, 1> clock(zero);
  three_threads<<<3, 1>>>(shared.pointer, clock.pointer, protection);
  finish_launch();
  shared.read(pool);
  std::printf("read %d, key 99 went to slot %d, the next key may have slot %d\n", pool->read, pool->taken_while_read,
              pool->taken_after);
  verdict("the reader reads what it found", pool->read == on_the_cpu, exit_code);
  verdict("its slot is left alone", pool->taken_while_read == SPARE, exit_code);
  if (protection == EARLY) verdict("and reused afterwards", pool->taken_after == TARGET, exit_code);
  return exit_code;
}
