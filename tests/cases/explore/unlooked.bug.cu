// case: unlooked
// rule: lost-update
// where: explore
// explore: --grid 2
// steps: 4
// why: nobody looks at whether the compare-and-swap succeeded, so the factor of the one that comes second is lost
__device__ int acc = 1;
__global__ void multiply() {
  int old = *(volatile int *)&acc;          //~| read before
  atomicCAS(&acc, old, old * (blockIdx.x + 2));  //~ lost-update
}
