// case: queue_slots
// rule: none
// where: explore
// explore: --grid 3
// explore: --grid 4
// why: where a push takes effect depends on what comes later (Herlihy and Wing): the places are drawn in one order and may be filled in another
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ int tail;
__device__ int slot[3];
__device__ void push(int value) {
  BEGINS(queue_push, &tail, value);
  int place = atomicAdd(&tail, 1);
  atomicExch(&slot[place], value);
  ENDS(0);
}
__device__ void pop() {
  BEGINS(queue_pop, &tail, 0);
  int given = 0;
  while (given == 0) {
    int count = *(volatile int *)&tail;
    for (int at = 0; at < count && given == 0; ++at) given = atomicExch(&slot[at], 0);
  }
  ENDS(given);
}
__global__ void work() {
  if (blockIdx.x < 2) push(blockIdx.x + 1);
  else pop();
}
