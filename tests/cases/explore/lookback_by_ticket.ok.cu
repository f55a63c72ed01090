// case: lookback_by_ticket
// rule: none
// where: explore
// explore: --grid 3 --block 2 --expect out[1]==2&&out[3]==4&&out[5]==6
// progress: guaranteed
// ends: OBE HSA_OBE LOBE WEAK_FAIR
// why: a block waits for the one that drew the ticket before, which runs already; a scheduler that serves the block with the
//      lowest number alone may leave that one waiting
__device__ int ticket, out[6];
__device__ volatile int flag[3], sum[3];
__global__ void scan() {
  __shared__ int place, before;
  if (threadIdx.x == 0) {
    int b = atomicAdd(&ticket, 1), carried = 0;
    if (b > 0) {
      while (flag[b - 1] == 0) {}
      carried = sum[b - 1];
    }
    sum[b] = carried + 2;
    __threadfence();
    flag[b] = 1;
    place = b;
    before = carried;
  }
  __syncthreads();
  out[2 * place + threadIdx.x] = before + threadIdx.x + 1;
}
