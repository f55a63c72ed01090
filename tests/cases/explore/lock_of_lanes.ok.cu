// case: lock_of_lanes
// rule: none
// where: explore
// explore: --block 3 --expect count==3
// progress: guaranteed
// ends: OBE HSA HSA_OBE LOBE WEAK_FAIR
// why: the release lies inside the loop that takes the lock, and lanes of one warp go on by themselves from sm_70 on
__device__ int lock;
__device__ volatile int count;
__global__ void add() {
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      count = count + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
