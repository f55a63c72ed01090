// case: treiber_aba
// rule: none
// where: explore
// explore: --grid 2
// explore: --grid 3
// why: a tag beside the top grows with each change, so a slot that came back is told from one that stayed
__device__ unsigned long long top = 0;
__device__ volatile int next[3] = {1, 2, -1};
__device__ unsigned long long pack(unsigned long long old, int slot) {
  return ((old >> 32) + 1) << 32 | (unsigned)slot;
}
__device__ int pop() {
  for (;;) {
    unsigned long long old = *(volatile unsigned long long *)&top;
    int slot = (int)(unsigned)old;
    if (slot == -1) return -1;
    int after = next[slot];
    if (atomicCAS(&top, old, pack(old, after)) == old) return slot;
  }
}
__device__ void push(int slot) {
  for (;;) {
    unsigned long long old = *(volatile unsigned long long *)&top;
    next[slot] = (int)(unsigned)old;
    if (atomicCAS(&top, old, pack(old, slot)) == old) return;
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
