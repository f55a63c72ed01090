// case: set_list
// rule: none
// where: explore
// explore: --grid 4
// why: one of two inserts of a key puts it in, and whoever finds it once finds it again
#define BEGINS(operation, what, argument)                                                             \
  asm volatile("{ .reg .b64 standstill_begins_" #operation "; mad.lo.u64 standstill_begins_" #operation \
               ", %0, %1, 0; }" ::"l"(what), "l"((long long)(argument)) : "memory")
#define ENDS(result) \
  asm volatile("{ .reg .b64 standstill_ends; mov.b64 standstill_ends, %0; }" ::"l"((long long)(result)) : "memory")
__device__ volatile int head = -1;
__device__ int key[3] = {20, 20, 30};
__device__ volatile int next[3];
__device__ void insert(int node) {
  BEGINS(set_insert, &head, key[node]);
  int put = 1;
  for (;;) {
    volatile int *link = &head;
    int after = *link;
    while (after != -1 && key[after] < key[node]) {
      link = &next[after];
      after = *link;
    }
    if (after != -1 && key[after] == key[node]) {
      put = 0;
      break;
    }
    next[node] = after;
    __threadfence();
    if (atomicCAS((int *)link, after, node) == after) break;
  }
  ENDS(put);
}
__device__ void look(int wanted) {
  BEGINS(set_contains, &head, wanted);
  int at = head;
  while (at != -1 && key[at] < wanted) at = next[at];
  ENDS(at != -1 && key[at] == wanted);
}
__global__ void work() {
  if (blockIdx.x < 2) insert(blockIdx.x);
  else if (blockIdx.x == 2) {
    look(20);
    insert(2);
  } else {
    look(30);
    look(20);
  }
}
