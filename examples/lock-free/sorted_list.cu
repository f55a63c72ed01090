// A sorted linked list with concurrent inserts: an array of nodes, indices for pointers, -1 for the end.
//
// From [10 30 50] two threads insert 20 and 25 at the same place. Both find the predecessor 10 and the
// successor 30; one compare-and-swap wins. The loser must search again from the head: it then finds 20
// as its predecessor. To retry on the old predecessor with the new expected value breaks the order.
//
//   sorted_list            searches again: [10 20 25 30 50]
//   sorted_list faulty     retries in place: MISMATCH, exit code 1
#include "common.h"

constexpr int NODES = 8, END = -1, HEAD = 0;

struct Node {
  int key, next;
};

struct Place {
  int before, after;
};

// The neighbours between which `key` belongs. The head's key is below every other.
__device__ Place search(Node *nodes, int key) {
  int before = HEAD, after = atomicAdd(&nodes[HEAD].next, 0);
  while (after != END && nodes[after].key < key) {
    before = after;
    after = atomicAdd(&nodes[before].next, 0);
  }
  return {before, after};
}

__global__ void insert(Node *nodes, int *clock, bool both_search_first, bool faulty, int *retries) {
  int thread = blockIdx.x, node = 4 + thread, key = nodes[node].key;
  // Each search is one turn, then each link: 0 searches, 1 searches, 0 links, 1 links.
  await_turn(clock, both_search_first ? thread : 2 * thread);
  Place place = search(nodes, key);
  end_turn(clock);
  await_turn(clock, both_search_first ? 2 + thread : 2 * thread + 1);
  for (;;) {
    atomicExch(&nodes[node].next, place.after);
    __threadfence();
    int found = atomicCAS(&nodes[place.before].next, place.after, node);
    if (found == place.after) break;
    ++retries[thread];
    if (faulty)
      place.after = found;
    else
      place = search(nodes, key);
  }
  end_turn(clock);
}

struct Run {
  int keys[NODES], length, retries[2];
};

static Run run(bool turns, bool both_search_first, bool faulty) {
  Node nodes[NODES] = {{-1000, 1}, {10, 2}, {30, 3}, {50, END}, {20, END}, {25, END}, {0, END}, {0, END}};
  int zero[1] = {0};
  Run out{};
  OnDevice<Node, NODES> list(nodes);
  OnDevice<int, 1> clock(zero);
  OnDevice<int, 2> retries(out.retries);
  insert<<<2, 1>>>(list.pointer, turns ? clock.pointer : nullptr, both_search_first, faulty, retries.pointer);
  finish_launch();
  list.read(nodes);
  retries.read(out.retries);
  for (int at = nodes[HEAD].next; at != END && out.length < NODES; at = nodes[at].next)
    out.keys[out.length++] = nodes[at].key;
  return out;
}

static bool is(const Run &run, const int (&keys)[5]) {
  if (run.length != 5) return false;
  for (int i = 0; i < 5; ++i)
    if (run.keys[i] != keys[i]) return false;
  return true;
}

static void print(const char *what, const Run &run) {
  std::printf("%s: [", what);
  for (int i = 0; i < run.length; ++i) std::printf(i ? " %d" : "%d", run.keys[i]);
  std::printf("], retries %d and %d\n", run.retries[0], run.retries[1]);
}

static void on_the_cpu(int (&keys)[5]) {
  int length = 3;
  keys[0] = 10, keys[1] = 30, keys[2] = 50;
  for (int key : {20, 25}) {
    int at = length++;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

int main(int argc, char **argv) {
  bool faulty = asked_for(argc, argv, "faulty");
  int exit_code = 0, want[5];
  on_the_cpu(want);

  Run in_order = run(true, false, faulty);
  print("one after the other", in_order);
  verdict("one after the other", is(in_order, want) && in_order.retries[1] == 0, exit_code);

  Run together = run(true, true, faulty);
  print("both search first", together);
  verdict("both search first", is(together, want) && together.retries[1] == 1, exit_code);

  Run free_order = run(false, false, faulty);
  if (!faulty) {
    print("any order", free_order);
    verdict("any order", is(free_order, want), exit_code);
  }
  return exit_code;
}
