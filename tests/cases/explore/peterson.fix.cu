// case: peterson
// rule: none
// where: explore
// explore: --grid 2 --expect count==2
// why: whoever writes the turn last waits, so that one of the two goes in and the other follows
__device__ volatile int wants[2], turn;
__device__ volatile int count;
__global__ void enter() {
  int me = blockIdx.x, other = 1 - me;
  wants[me] = 1;
  __threadfence();
  turn = other;
  __threadfence();
  while (wants[other] && turn == other) {}
  count = count + 1;
  __threadfence();
  wants[me] = 0;
}
