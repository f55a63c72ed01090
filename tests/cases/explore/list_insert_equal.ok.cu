// case: list_insert_equal
// rule: none
// where: explore
// explore: --grid 2 --expect key[next[head]]==20&&key[next[next[head]]]==30&&next[next[next[head]]]==-1&&refused==1
// explore: --grid 3 --expect key[next[head]]==20&&key[next[next[head]]]==30&&next[next[next[head]]]==-1&&refused==2
// why: a key is put in once: whoever comes second finds it when it searches again
__device__ int head = 0, refused;
__device__ int key[5] = {10, 30, 20, 20, 20};
__device__ volatile int next[5] = {1, -1, -1, -1, -1};
__global__ void insert() {
  int node = 2 + blockIdx.x;
  for (;;) {
    int before = head, after = next[before];
    while (after != -1 && key[after] < key[node]) {
      before = after;
      after = next[before];
    }
    if (after != -1 && key[after] == key[node]) {
      atomicAdd(&refused, 1);
      return;
    }
    next[node] = after;
    __threadfence();
    if (atomicCAS((int *)&next[before], after, node) == after) return;
  }
}
