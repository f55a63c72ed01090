// case: treiber_pop
// rule: aba
// where: explore
// explore: --grid 2 --expect taken[0]+taken[1]+taken[2]==3&&taken[0]<=1&&taken[1]<=1&&taken[2]<=1
// why: block 1 pops two slots and pushes the first again, so the compare-and-swap of block 0 finds the old top and
//      installs a next that was taken
__device__ int top = 0;
__device__ volatile int next[3] = {1, 2, -1};
__device__ int taken[3];
__device__ int pop() {
  for (;;) {
    int old = *(volatile int *)&top;
    if (old == -1) return -1;
    int after = next[old];
    if (atomicCAS(&top, old, after) == old) return old;  //~ aba
  }
}
__device__ void push(int slot) {
  for (;;) {
    int old = *(volatile int *)&top;
    next[slot] = old;
    if (atomicCAS(&top, old, slot) == old) return;  //~| the value comes back
  }
}
__global__ void work() {
  if (blockIdx.x == 0) {
    int mine = pop();
    atomicAdd(&taken[mine], 1);
  } else {
    int first = pop(), second = pop();
    push(first);
    if (second >= 0) atomicAdd(&taken[second], 1);
    int third = pop();
    if (third >= 0) atomicAdd(&taken[third], 1);
  }
}
