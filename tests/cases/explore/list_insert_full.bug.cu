// case: list_insert_full
// rule: out-of-bounds
// where: explore
// explore: --grid 3
// why: who draws a number beyond the pool writes behind its end
__device__ int head = 0, used = 2;
__device__ volatile int key[4] = {10, 90}, next[4] = {1, -1, -1, -1};
__global__ void insert() {
  int mine = 20 + 10 * blockIdx.x, node = atomicAdd(&used, 1);
  key[node] = mine;  //~ out-of-bounds
  for (;;) {
    int before = head, after = next[before];
    while (after != -1 && key[after] < mine) {
      before = after;
      after = next[before];
    }
    next[node] = after;
    __threadfence();
    if (atomicCAS((int *)&next[before], after, node) == after) return;
  }
}
