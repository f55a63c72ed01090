// case: counter_gives
// rule: none
// where: explore
// explore: --grid 3
// why: each gives what it found when it succeeded
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ int count;
__device__ void add(int amount) {
  BEGINS(counter_fetch_add, &count, amount);
  int old = *(volatile int *)&count, seen;
  while ((seen = atomicCAS(&count, old, old + amount)) != old) old = seen;
  ENDS(old);
}
__device__ void get() {
  BEGINS(counter_get, &count, 0);
  ENDS(*(volatile int *)&count);
}
__global__ void work() {
  if (blockIdx.x < 2) {
    add(1);
    add(2);
  } else {
    get();
    get();
  }
}
