// case: list_insert
// rule: wrong-result
// where: explore
// explore: --grid 2 --expect key[next[head]]==20&&key[next[next[head]]]==25
// why: the insert that lost tries the same predecessor with the new successor, and links 25 before 20
__device__ int head = 0;
__device__ int key[5] = {10, 30, 50, 20, 25};
__device__ volatile int next[5] = {1, 2, -1, -1, -1};
__global__ void insert() {
  int node = 3 + blockIdx.x, before = head, after = next[before];
  while (after != -1 && key[after] < key[node]) {
    before = after;
    after = next[before];
  }
  for (;;) {
    next[node] = after;
    __threadfence();
    int seen = atomicCAS((int *)&next[before], after, node);  //~ wrong-result
    if (seen == after) return;
    after = seen;
  }
}
