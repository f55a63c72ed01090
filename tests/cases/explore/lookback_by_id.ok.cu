// case: lookback_by_id
// rule: none
// where: explore
// explore: --grid 3 --block 2 --expect out[1]==2&&out[3]==4&&out[5]==6
// progress: works only because of how today's cards schedule
// ends: HSA HSA_OBE LOBE WEAK_FAIR
// why: a block waits for one with a lower number, which cards start first today and CUDA does not promise to
__device__ volatile int flag[3], sum[3];
__device__ int out[6];
__global__ void scan() {
  __shared__ int before;
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int carried = 0;
    if (b > 0) {
      while (flag[b - 1] == 0) {}
      carried = sum[b - 1];
    }
    sum[b] = carried + 2;
    __threadfence();
    flag[b] = 1;
    before = carried;
  }
  __syncthreads();
  out[2 * b + threadIdx.x] = before + threadIdx.x + 1;
}
