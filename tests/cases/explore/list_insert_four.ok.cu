// case: list_insert_four
// rule: none
// where: explore
// explore: --grid 2 --expect key[head]==10&&key[next[head]]==20&&key[next[next[head]]]==25&&key[next[next[next[head]]]]==30
// explore: --grid 3 --expect key[next[head]]==20&&key[next[next[head]]]==25&&key[next[next[next[head]]]]==28
// explore: --grid 4 --no-schedulers --expect key[next[head]]==20&&key[next[next[head]]]==22&&key[next[next[next[head]]]]==25&&key[next[next[next[next[head]]]]]==28&&key[next[next[next[next[next[head]]]]]]==30
// why: an insert that lost its place searches again from the head, so all four stand in order at the end
__device__ int head = 0;
__device__ int key[7] = {10, 30, 50, 20, 25, 28, 22};
__device__ volatile int next[7] = {1, 2, -1, -1, -1, -1, -1};
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
