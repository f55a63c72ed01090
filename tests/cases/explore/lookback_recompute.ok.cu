// case: lookback_recompute
// rule: none
// where: explore
// explore: --grid 3 --block 2 --expect out[1]==2&&out[3]==4&&out[5]==6
// progress: guaranteed
// ends: OBE HSA HSA_OBE LOBE WEAK_FAIR
// why: where the sum before is not there yet, the block computes it itself instead of waiting
__device__ volatile int flag[3], sum[3];
__device__ int out[6];
__global__ void scan() {
  __shared__ int before;
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int carried = 0;
    for (int p = b - 1; p >= 0; --p) {
      if (flag[p]) {
        carried += sum[p];
        break;
      }
      carried += 2;
    }
    sum[b] = carried + 2;
    __threadfence();
    flag[b] = 1;
    before = carried;
  }
  __syncthreads();
  out[2 * b + threadIdx.x] = before + threadIdx.x + 1;
}
