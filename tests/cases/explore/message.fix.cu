// case: message
// rule: none
// where: explore
// explore: --grid 2 --expect seen==42
// why: a fence on each side: release before the flag, acquire behind it
__device__ int payload, seen;
__device__ volatile int flag;
__global__ void send() {
  if (blockIdx.x == 0) {
    payload = 42;
    __threadfence();
    flag = 1;
  } else {
    while (flag == 0) {}
    __threadfence();
    seen = payload;
  }
}
