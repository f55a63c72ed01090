// case: treiber_aba
// rule: aba
// where: explore
// explore: --grid 2
// why: slot 0 is taken, slot 1 too, and slot 0 comes back: the compare-and-swap of the other block installs slot 1, which is taken
__device__ int top = 0;
__device__ volatile int next[3] = {1, 2, -1};
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
    pop();
  } else {
    int first = pop();
    pop();
    if (first >= 0) push(first);
  }
}
