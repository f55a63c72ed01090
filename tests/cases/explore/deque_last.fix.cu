// case: deque_last
// rule: none
// where: explore
// explore: --grid 2 --expect taken==1
// explore: --grid 3 --expect taken==1
// progress: guaranteed
// why: the owner and the thieves of a deque with one task left agree on it by a compare-and-swap of the top
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
      if (seen == at && atomicCAS(&top, seen, seen + 1) == seen) atomicAdd(&taken, 1);
      *end = at + 1;
    }
  } else {
    int seen = *first;
    __threadfence();
    if (seen < *end && atomicCAS(&top, seen, seen + 1) == seen) atomicAdd(&taken, 1);
  }
}
