// case: handoff
// rule: wait-cycle
// also: divergent-barrier
// where: explore
// explore: --block 4
// steps: 0
// why: half of the block waits at the barrier for the other half, which spins on a flag that is set behind it
__device__ int flag, out[4];
__global__ void handoff() {
  __shared__ int tile[2];
  if (threadIdx.x < 2) {
    tile[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();  //~ wait-cycle
    if (threadIdx.x == 0) atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {}  //~ wait-cycle
    out[threadIdx.x] = tile[threadIdx.x - 2];
  }
}
