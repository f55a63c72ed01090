// Breadth-first search with a queue for each level; the host launches one kernel a level.
#include "program.h"

struct Graph {
  std::vector<int> start, target;
};

__global__ void expand(const int *start, const int *target, int *level, const int *queue, int length, int depth,
                       int *next, int *next_length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length) return;
  int node = queue[i];
  for (int edge = start[node]; edge < start[node + 1]; ++edge) {
    int other = target[edge];
    if (atomicCAS(&level[other], -1, depth) == -1) next[atomicAdd(next_length, 1)] = other;
  }
}

static Graph make(int nodes) {
  Random random(6);
  Graph graph;
  for (int node = 0; node < nodes; ++node) {
    graph.start.push_back((int)graph.target.size());
    int degree = 1 + random.next() % 6;
    for (int k = 0; k < degree; ++k) {
      int other = random.next() % 8 ? node + 1 + random.next() % 40 : random.next();
      graph.target.push_back((unsigned)other % nodes);
    }
  }
  graph.start.push_back((int)graph.target.size());
  return graph;
}

static std::vector<int> on_the_cpu(const Graph &graph, int nodes) {
  std::vector<int> level(nodes, -1), queue{0};
  level[0] = 0;
  for (size_t at = 0; at < queue.size(); ++at) {
    int node = queue[at];
    for (int edge = graph.start[node]; edge < graph.start[node + 1]; ++edge) {
      int other = graph.target[edge];
      if (level[other] == -1) {
        level[other] = level[node] + 1;
        queue.push_back(other);
      }
    }
  }
  return level;
}

int main() {
  const int nodes = 20000;
  Graph graph = make(nodes);
  std::vector<int> level(nodes, -1);
  level[0] = 0;
  Buffer<int> start(graph.start), target(graph.target), device_level(level), length(1);
  Buffer<int> first(nodes), second(nodes);
  int *queue = first.pointer, *next = second.pointer, count = 1, depth = 0;
  CHECK(cudaMemset(queue, 0, sizeof(int)));
  while (count > 0) {
    length.clear();
    expand<<<(count + 127) / 128, 128>>>(start.pointer, target.pointer, device_level.pointer, queue, count, ++depth,
                                         next, length.pointer);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, length.pointer, sizeof count, cudaMemcpyDeviceToHost));
    std::swap(queue, next);
  }
  std::vector<int> got = device_level.read(), want = on_the_cpu(graph, nodes);
  size_t bad = 0;
  for (int node = 0; node < nodes; ++node) bad += got[node] != want[node];
  std::printf("levels %d\n", depth);
  return report("bfs", nodes, bad, checksum(got));
}
