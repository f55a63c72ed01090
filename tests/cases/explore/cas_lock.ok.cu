// case: cas_lock
// rule: none
// where: explore
// explore: --grid 4 --expect count==4
// progress: guaranteed
// ends: OBE HSA_OBE LOBE WEAK_FAIR
// why: whoever holds the lock has taken a step, and so goes on and gives it back
__device__ int lock;
__device__ volatile int count;
__global__ void add() {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __threadfence();
  count = count + 1;
  __threadfence();
  atomicExch(&lock, 0);
}
