// case: two_phase_queue
// rule: not-linearizable
// where: explore
// explore: --grid 2
// steps: 20
// why: the end of a queue moves without a compare-and-swap: two may take the same value
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ int head, tail, next_[5] = {-1, -1, -1, -1, -1}, value[5];
__device__ int at(int *place) { return *(volatile int *)place; }
__device__ void push(int node) {
  BEGINS(queue_push, &head, node);
  *(volatile int *)&value[node] = node;
  __threadfence();
  for (;;) {
    int last = at(&tail), behind = at(&next_[last]);
    if (behind != -1) {
      atomicCAS(&tail, last, behind);
    } else if (atomicCAS(&next_[last], -1, node) == -1) {
      atomicCAS(&tail, last, node);
      break;
    }
  }
  ENDS(0);
}
__device__ void pop() {
  BEGINS(queue_pop, &head, 0);  //~| not-linearizable
  int got = -1;
  for (;;) {
    int first = at(&head), last = at(&tail), behind = at(&next_[first]);
    if (behind == -1) break;
    if (first == last) {
      atomicCAS(&tail, last, behind);
      continue;
    }
    got = at(&value[behind]);
    atomicExch(&head, behind);
    break;
  }
  ENDS(got);  //~ not-linearizable
}
__global__ void churn() {
  push(blockIdx.x + 1);
  pop();
}
