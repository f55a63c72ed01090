// case: peterson
// rule: lost-update
// where: explore
// explore: --grid 2 --expect count==2
// steps: 13
// why: the turn is written before the wish: both may find that the other does not want to
__device__ volatile int wants[2], turn;
__device__ volatile int count;
__global__ void enter() {
  int me = blockIdx.x, other = 1 - me;
  turn = other;
  __threadfence();
  wants[me] = 1;
  __threadfence();
  while (wants[other] && turn == other) {}
  count = count + 1;  //~ lost-update
  __threadfence();
  wants[me] = 0;
}
