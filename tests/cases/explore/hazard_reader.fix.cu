// case: hazard_reader
// rule: none
// where: explore
// explore: --grid 3
// why: published before the read, and the link looked at again behind it
#include <cassert>
__device__ volatile int link = 2, hazard = -1, key[4] = {10, 30, 50, 0}, retired = -1;
__global__ void work() {
  if (blockIdx.x == 0) {
    int slot = link;
    if (slot != 2) return;
    hazard = slot;
    __threadfence();
    if (link == slot) assert(key[slot] == 50);
    hazard = -1;
  } else if (blockIdx.x == 1) {
    link = -1;
    __threadfence();
    retired = 2;
  } else {
    if (retired != 2) return;
    __threadfence();
    int slot = hazard == 2 ? 3 : 2;
    key[slot] = 99;
  }
}
