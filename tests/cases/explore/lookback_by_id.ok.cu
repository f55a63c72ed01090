// case: lookback_by_id
// rule: none
// where: explore
// explore: --grid 3 --expect sum[2]==6
// progress: works only
// why: a block waits for one with a lower number, which cards start first today and CUDA does not promise to
__device__ volatile int flag[3], sum[3];
__global__ void scan() {
  int b = blockIdx.x, before = 0;
  if (b > 0) {
    while (flag[b - 1] == 0) {}
    before = sum[b - 1];
  }
  sum[b] = before + b + 1;
  __threadfence();
  flag[b] = 1;
}
