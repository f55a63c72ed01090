// case: deque_last
// rule: wrong-result
// where: explore
// explore: --grid 2 --expect taken==1
// progress: guaranteed
// steps: 9
// why: the owner takes the last task without asking whether a thief has taken it
__device__ int top, bottom = 1, taken;
__global__ void take() {
  volatile int *first = &top, *end = &bottom;
  if (blockIdx.x == 0) {
    int at = *end - 1;
    *end = at;
    __threadfence();
    int seen = *first;
    if (seen < at) {
      atomicAdd(&taken, 1);
    } else {
      if (seen == at) atomicAdd(&taken, 1);
      *end = at + 1;
    }
  } else {
    int seen = *first;
    __threadfence();
    if (seen < *end && atomicCAS(&top, seen, seen + 1) == seen) atomicAdd(&taken, 1);  //~ wrong-result
  }
}
