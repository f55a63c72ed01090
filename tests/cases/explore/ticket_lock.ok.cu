// case: ticket_lock
// rule: none
// where: explore
// explore: --grid 3 --expect count==3
// progress: guaranteed
// why: whoever holds a ticket has taken a step, and so goes on
__device__ unsigned ticket, serving;
__device__ volatile int count;
__global__ void add() {
  unsigned mine = atomicAdd(&ticket, 1);
  while (*(volatile unsigned *)&serving != mine) {}
  count = count + 1;
  __threadfence();
  *(volatile unsigned *)&serving = mine + 1;
}
