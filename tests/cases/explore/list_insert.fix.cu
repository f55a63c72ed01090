// case: list_insert
// rule: none
// where: explore
// explore: --grid 3 --expect key[next[head]]==20&&key[next[next[head]]]==25&&key[next[next[next[head]]]]==28&&key[next[next[next[next[head]]]]]==30
// why: an insert that lost its place searches again from the head
__device__ int head = 0;
__device__ int key[6] = {10, 30, 50, 20, 25, 28};
__device__ volatile int next[6] = {1, 2, -1, -1, -1, -1};
__global__ void insert() {
  int node = 3 + blockIdx.x;
  for (;;) {
    int before = head, after = next[before];
    while (after != -1 && key[after] < key[node]) {
      before = after;
      after = next[before];
    }
    next[node] = after;
    __threadfence();
    if (atomicCAS((int *)&next[before], after, node) == after) return;
  }
}
