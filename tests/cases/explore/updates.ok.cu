// case: updates
// rule: none
// where: explore
// explore: --grid 3 --expect sum==6&&most==3&&turns==3
// why: a loop that tries again loses nothing: a counter, a greatest value, and one behind a lock that is looked at before it is tried
__device__ int sum, most, lock;
__device__ volatile int turns;
__device__ void add(int value) {
  int old = *(volatile int *)&sum, seen;
  while ((seen = atomicCAS(&sum, old, old + value)) != old) old = seen;
}
__device__ void raise(int value) {
  int old = *(volatile int *)&most;
  while (old < value) {
    int seen = atomicCAS(&most, old, value);
    if (seen == old) return;
    old = seen;
  }
}
__global__ void work() {
  int mine = blockIdx.x + 1;
  add(mine);
  raise(mine);
  for (;;) {
    while (*(volatile int *)&lock) {}
    if (atomicCAS(&lock, 0, 1) == 0) break;
  }
  __threadfence();
  turns = turns + 1;
  __threadfence();
  atomicExch(&lock, 0);
}
