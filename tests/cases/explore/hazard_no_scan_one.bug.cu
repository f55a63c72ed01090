// case: hazard_no_scan_one
// rule: reuse-after-free
// where: explore
// explore: --grid 3
// why: the slot is freed without a look at who reads it
#define READERS 1
#define FREED(p) asm volatile("// standstill.freed %0, 4;" :: "l"(p) : "memory")
#define TAKEN(p) asm volatile("// standstill.allocated %0, 4;" :: "l"(p) : "memory")
__device__ volatile int head = 2, key[4] = {10, 30, 50, 0}, spare = 3, hazard[READERS] = {-1}, out[READERS];
__device__ void read(int me) {
  int slot;
  do {
    slot = head;
    hazard[me] = slot;
    __threadfence();
  } while (head != slot);
  if (slot >= 0) out[me] = key[slot];  //~ reuse-after-free
  __threadfence();
  hazard[me] = -1;
}
__device__ void remove() {
  int slot = head;
  head = -1;
  __threadfence();
  FREED(&key[slot]);  //~| nobody asks who still reads it
  __threadfence();
  spare = slot;
}
__device__ void reuse() {
  int slot = spare;
  __threadfence();
  TAKEN(&key[slot]);
  key[slot] = 99;
}
__global__ void work() {
  if (blockIdx.x == 0) remove();
  else if (blockIdx.x == 1) reuse();
  else read(blockIdx.x - 2);
}
