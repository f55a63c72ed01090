// case: lock_order
// rule: none
// where: explore
// explore: --grid 3 --expect count==3
// why: all blocks take the left lock first
__device__ int left, right;
__device__ volatile int count;
__global__ void transfer() {
  while (atomicCAS(&left, 0, 1)) {}
  while (atomicCAS(&right, 0, 1)) {}
  count = count + 1;
  __threadfence();
  atomicExch(&right, 0);
  atomicExch(&left, 0);
}
