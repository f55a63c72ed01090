// case: promise_of_a_block
// rule: none
// where: explore
// explore: --block 2
// progress: guaranteed
// ends: OBE HSA HSA_OBE LOBE WEAK_FAIR
// why: once a thread of a block takes a step, all threads of the block do in the end (libcu++, «Execution model», Device.0)
__device__ int flag;
__global__ void wait_for_neighbour() {
  if (threadIdx.x == 0) {
    while (*(volatile int *)&flag == 0) {}
  } else {
    *(volatile int *)&flag = 1;
  }
}
