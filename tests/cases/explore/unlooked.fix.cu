// case: unlooked
// rule: none
// where: explore
// explore: --grid 2 --expect acc==6
// why: what fails is tried again with what was found
__device__ int acc = 1;
__global__ void multiply() {
  int old = *(volatile int *)&acc, seen;
  while ((seen = atomicCAS(&acc, old, old * (blockIdx.x + 2))) != old) old = seen;
}
