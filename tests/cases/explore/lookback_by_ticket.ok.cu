// case: lookback_by_ticket
// rule: none
// where: explore
// explore: --grid 3 --expect sum[2]==6
// progress: guaranteed
// why: a block waits for the one that drew the ticket before, which runs already
__device__ int ticket;
__device__ volatile int flag[3], sum[3];
__global__ void scan() {
  int b = atomicAdd(&ticket, 1), before = 0;
  if (b > 0) {
    while (flag[b - 1] == 0) {}
    before = sum[b - 1];
  }
  sum[b] = before + b + 1;
  __threadfence();
  flag[b] = 1;
}
