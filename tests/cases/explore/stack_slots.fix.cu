// case: stack_slots
// rule: none
// where: explore
// explore: --grid 3
// explore: --grid 4
// why: a node is filled before the one step that links it, and whoever unlinks it has it alone
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ unsigned long long top = 0xffffffffull;
__device__ volatile int next[2], value[2] = {7, 8};
__device__ unsigned long long pack(unsigned long long old, int slot) {
  return ((old >> 32) + 1) << 32 | (unsigned)slot;
}
__device__ void push(int slot) {
  BEGINS(stack_push, &top, value[slot]);
  for (;;) {
    unsigned long long old = *(volatile unsigned long long *)&top;
    next[slot] = (int)(unsigned)old;
    __threadfence();
    if (atomicCAS(&top, old, pack(old, slot)) == old) break;
  }
  ENDS(0);
}
__device__ void pop() {
  BEGINS(stack_pop, &top, 0);
  int given = -1;
  for (;;) {
    unsigned long long old = *(volatile unsigned long long *)&top;
    int slot = (int)(unsigned)old;
    if (slot == -1) break;
    if (atomicCAS(&top, old, pack(old, next[slot])) == old) {
      given = value[slot];
      break;
    }
  }
  ENDS(given);
}
__global__ void work() {
  if (blockIdx.x < 2) push(blockIdx.x);
  else {
    pop();
    pop();
  }
}
