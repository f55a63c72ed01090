// case: block_sum
// rule: shared-race
// also: wrong-result, lost-update
// where: explore
// explore: --block 4 --expect total==10
// why: the barrier stands behind the loop, so a thread reads what another one has not added yet
__device__ int total;
__global__ void sum() {
  __shared__ int part[4];
  int t = threadIdx.x;
  part[t] = t + 1;
  __syncthreads();
  for (int d = 2; d; d >>= 1) {
    if (t < d) part[t] += part[t + d];  //~ shared-race
  }
  __syncthreads();
  if (t == 0) atomicAdd(&total, part[0]);
}
