// case: stack_slots
// rule: not-linearizable
// where: explore
// explore: --grid 2
// steps: 4
// why: the place is counted before its value is there, so a pop gives what nobody pushed
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ int top;
__device__ volatile int slot[3];
__device__ void push(int value) {
  BEGINS(stack_push, &top, value);
  slot[atomicAdd(&top, 1)] = value;  //~| counted before it is there
  ENDS(0);
}
__device__ int pop() {
  BEGINS(stack_pop, &top, 0);
  int old = *(volatile int *)&top, value = -1;
  while (old > 0) {
    int seen = atomicCAS(&top, old, old - 1);
    if (seen == old) {
      value = slot[old - 1];
      break;
    }
    old = seen;
  }
  ENDS(value);  //~ not-linearizable
  return value;
}
__global__ void work() {
  if (blockIdx.x == 0) push(7);
  else pop();
}
