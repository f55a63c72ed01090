// case: queue_slots
// rule: not-linearizable
// where: explore
// explore: --grid 4
// why: a pop that looks once may miss a value that is there all the time, and say that there is none
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
  int count = *(volatile int *)&tail;
  for (int at = 0; at < count && given == 0; ++at) given = atomicExch(&slot[at], 0);
  ENDS(given ? given : -1);  //~ not-linearizable
}
__global__ void work() {
  if (blockIdx.x < 2) push(blockIdx.x + 1);
  else pop();  //~| several at once
}
