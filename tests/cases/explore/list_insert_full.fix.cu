// case: list_insert_full
// rule: none
// where: explore
// explore: --grid 3 --expect refused==1&&next[next[next[next[head]]]]==-1&&key[next[head]]<key[next[next[head]]]
// explore: --grid 4 --no-schedulers --expect refused==2&&next[next[next[next[head]]]]==-1&&key[next[head]]<key[next[next[head]]]
// why: the pool has room for two more nodes; who draws a number beyond them is refused and leaves the list alone
__device__ int head = 0, used = 2, refused;
__device__ volatile int key[4] = {10, 90}, next[4] = {1, -1, -1, -1};
__global__ void insert() {
  int mine = 20 + 10 * blockIdx.x, node = atomicAdd(&used, 1);
  if (node >= 4) {
    atomicAdd(&refused, 1);
    return;
  }
  key[node] = mine;
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
