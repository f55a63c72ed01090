// case: hazard_reader
// rule: failed-assertion
// where: explore
// explore: --grid 3
// why: the reader publishes its hazard after it has read the link, and does not look again: the slot may be taken anew in
//      between
#include <cassert>
__device__ volatile int link = 2, hazard = -1, key[4] = {10, 30, 50, 0}, retired = -1;
__global__ void work() {
  if (blockIdx.x == 0) {
    int slot = link;
    if (slot != 2) return;
    hazard = slot;
    __threadfence();
    assert(key[slot] == 50);  //~ failed-assertion
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
