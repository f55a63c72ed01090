// case: handoff
// rule: none
// where: explore
// explore: --block 4 --expect out[2]==1&&out[3]==2
// why: all threads of the block meet at the barrier
__device__ int flag, out[4];
__global__ void handoff() {
  __shared__ int tile[2];
  if (threadIdx.x < 2) tile[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(&flag, 1);
  if (threadIdx.x >= 2) {
    while (atomicAdd(&flag, 0) == 0) {}
    out[threadIdx.x] = tile[threadIdx.x - 2];
  }
}
