// case: mcs_lock
// rule: none
// where: explore
// explore: --grid 3 --expect count==3&&tail==-1
// progress: guaranteed
// ends: OBE HSA_OBE LOBE WEAK_FAIR
// why: each waits on a word of its own, which the holder before it changes
__device__ int tail = -1;
__device__ volatile int next[3] = {-1, -1, -1}, waits[3], count;
__global__ void add() {
  int me = blockIdx.x;
  int before = atomicExch(&tail, me);
  if (before != -1) {
    waits[me] = 1;
    __threadfence();
    next[before] = me;
    while (waits[me]) {}
  }
  count = count + 1;
  __threadfence();
  if (next[me] == -1) {
    if (atomicCAS(&tail, me, -1) == me) return;
    while (next[me] == -1) {}
  }
  waits[next[me]] = 0;
}
