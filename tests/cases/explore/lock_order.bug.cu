// case: lock_order
// rule: wait-cycle
// where: explore
// explore: --grid 2
// steps: 2
// why: each block holds the lock that the other one waits for
__device__ int left, right, count;
__global__ void transfer() {
  int *first = blockIdx.x ? &right : &left, *second = blockIdx.x ? &left : &right;
  while (atomicCAS(first, 0, 1)) {}
  while (atomicCAS(second, 0, 1)) {}  //~ wait-cycle
  ++count;
  __threadfence();
  atomicExch(second, 0);
  atomicExch(first, 0);
}
