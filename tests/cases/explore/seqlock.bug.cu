// case: seqlock
// rule: wrong-result
// where: explore
// explore: --grid 2 --expect torn==0
// steps: 8
// why: the reader does not look at the sequence again: what it read may be half old and half new
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
    if (before % 2 == 0) {
      if (one != other) torn = 1;  //~ wrong-result
      return;
    }
  }
}
