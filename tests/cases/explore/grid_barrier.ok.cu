// case: grid_barrier
// rule: none
// where: explore
// explore: --grid 3 --block 2 --expect out[0]==2&&out[1]==3&&out[2]==1
// progress: works only because of how today's cards schedule; as a cooperative launch
// ends: WEAK_FAIR
// why: every block waits until all have come, so all must start
__device__ volatile unsigned arrived[3], go[3];
__device__ volatile int data[3];
__device__ int out[3];
__device__ void barrier() {
  __syncthreads();
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      arrived[0] = 1;
      for (unsigned b = 0; b < gridDim.x; ++b) while (arrived[b] == 0) {}
      __threadfence();
      for (unsigned b = 0; b < gridDim.x; ++b) go[b] = 1;
    }
  } else if (threadIdx.x == 0) {
    __threadfence();
    arrived[blockIdx.x] = 1;
    while (go[blockIdx.x] == 0) {}
  }
  __syncthreads();
}
__global__ void exchange() {
  if (threadIdx.x == 1) data[blockIdx.x] = blockIdx.x + 1;
  barrier();
  if (threadIdx.x == 1) out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];
}
