// case: cas_multiply
// rule: none
// where: explore
// explore: --grid 4 --expect acc==210
// why: whoever comes in between makes the compare-and-swap fail, and it is tried again with what is there
__device__ int acc = 1;
__device__ const int factors[4] = {2, 3, 5, 7};
__global__ void multiply() {
  int factor = factors[blockIdx.x];
  int old = *(volatile int *)&acc, seen;
  while ((seen = atomicCAS(&acc, old, old * factor)) != old) old = seen;
}
