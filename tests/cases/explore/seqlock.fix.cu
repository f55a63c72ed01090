// case: seqlock
// rule: none
// where: explore
// explore: --grid 2 --expect torn==0
// explore: --grid 3 --expect torn==0
// why: a reader goes by what it read only when the sequence is even and the same before and behind
__device__ volatile unsigned sequence;
__device__ volatile int left, right, torn;
__global__ void share() {
  if (blockIdx.x == 0) {
    sequence = 1;
    __threadfence();
    left = 7;
    right = 7;
    __threadfence();
    sequence = 2;
    return;
  }
  for (;;) {
    unsigned before = sequence;
    __threadfence();
    int one = left, other = right;
    __threadfence();
    if (before % 2 == 0 && sequence == before) {
      if (one != other) torn = 1;
      return;
    }
  }
}
