// case: block_sum
// rule: none
// where: explore
// explore: --grid 2 --block 8 --no-schedulers --expect total==72
// why: a barrier between each half and the next
__device__ int total;
__global__ void sum() {
  __shared__ int part[8];
  int t = threadIdx.x;
  part[t] = t + 1;
  __syncthreads();
  for (int d = 4; d; d >>= 1) {
    if (t < d) part[t] += part[t + d];
    __syncthreads();
  }
  if (t == 0) atomicAdd(&total, part[0]);
}
