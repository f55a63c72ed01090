// case: list_insert_ends
// rule: none
// where: explore
// explore: --grid 2 --expect key[head]==3&&key[next[head]]==5&&key[next[next[head]]]==10
// explore: --grid 4 --expect key[head]==3&&key[next[head]]==5&&key[next[next[head]]]==10&&key[next[next[next[head]]]]==60&&key[next[next[next[next[head]]]]]==70&&next[next[next[next[next[head]]]]]==-1
// why: before the first node the head itself is changed, behind the last one its link to nothing
__device__ volatile int head = 0;
__device__ int key[5] = {10, 3, 5, 70, 60};
__device__ volatile int next[5] = {-1, -1, -1, -1, -1};
__global__ void insert() {
  int node = 1 + blockIdx.x;
  for (;;) {
    volatile int *link = &head;
    int after = *link;
    while (after != -1 && key[after] < key[node]) {
      link = &next[after];
      after = *link;
    }
    next[node] = after;
    __threadfence();
    if (atomicCAS((int *)link, after, node) == after) return;
  }
}
