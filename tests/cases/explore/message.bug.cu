// case: message
// rule: global-race
// where: explore
// explore: --grid 2
// why: the flag is set by a relaxed write without a release before it, so the payload may be seen later than the flag
__device__ int payload, seen;
__device__ volatile int flag;
__global__ void send() {
  if (blockIdx.x == 0) {
    payload = 42;  //~ global-race
    flag = 1;
  } else {
    while (flag == 0) {}
    __threadfence();
    seen = payload;  //~ global-race
  }
}
