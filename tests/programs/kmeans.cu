// k-means in the plane: nearest centre for each point, sums with atomics, new centres, until nothing moves.
#include "program.h"
#include <cmath>

constexpr int CENTRES = 7;

struct Sums {
  unsigned long long x[CENTRES], y[CENTRES];
  unsigned count[CENTRES], moved;
};

__constant__ float2 centres[CENTRES];

__host__ __device__ int nearest(float2 point, const float2 *all) {
  int best = 0;
  float least = 3.0e38f;
  for (int c = 0; c < CENTRES; ++c) {
    float dx = point.x - all[c].x, dy = point.y - all[c].y;
    float distance = fmaf(dx, dx, dy * dy);
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

__global__ void assign(const float2 *points, int *owner, int n, Sums *sums) {
  __shared__ Sums mine;
  for (int i = threadIdx.x; i < (int)(sizeof(Sums) / 4); i += blockDim.x) ((unsigned *)&mine)[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float2 point = points[i];
    int best = nearest(point, centres);
    if (owner[i] != best) atomicAdd(&mine.moved, 1u);
    owner[i] = best;
    atomicAdd(&mine.x[best], (unsigned long long)point.x);
    atomicAdd(&mine.y[best], (unsigned long long)point.y);
    atomicAdd(&mine.count[best], 1u);
  }
  __syncthreads();
  if (threadIdx.x < CENTRES && mine.count[threadIdx.x]) {
    atomicAdd(&sums->x[threadIdx.x], mine.x[threadIdx.x]);
    atomicAdd(&sums->y[threadIdx.x], mine.y[threadIdx.x]);
    atomicAdd(&sums->count[threadIdx.x], mine.count[threadIdx.x]);
  }
  if (threadIdx.x == 0) atomicAdd(&sums->moved, mine.moved);
}

static void update(float2 *host, const Sums &sums) {
  for (int c = 0; c < CENTRES; ++c)
    if (sums.count[c]) host[c] = {(float)(sums.x[c] / sums.count[c]), (float)(sums.y[c] / sums.count[c])};
}

int main() {
  const int n = 5000;
  Random random(9);
  std::vector<float2> points(n);
  for (float2 &p : points) {
    unsigned cluster = random.next() % 6;
    p = {(float)(cluster * 900 + random.next() % 700), (float)((cluster * cluster * 379) % 4000 + random.next() % 600)};
  }
  float2 host[CENTRES], reference[CENTRES];
  for (int c = 0; c < CENTRES; ++c) host[c] = reference[c] = points[c * 701];
  Buffer<float2> device(points);
  Buffer<int> owner(std::vector<int>(n, -1));
  Buffer<Sums> sums(1);
  std::vector<int> want(n, -1);
  int rounds = 0;
  for (unsigned moved = 1; moved && rounds < 100; ++rounds) {
    CHECK(cudaMemcpyToSymbol(centres, host, sizeof host));
    sums.clear();
    assign<<<(n + 255) / 256, 256>>>(device.pointer, owner.pointer, n, sums.pointer);
    after_launch();
    std::vector<Sums> got = sums.read();
    moved = got[0].moved;
    update(host, got[0]);
    Sums all{};
    for (int i = 0; i < n; ++i) {
      int best = want[i] = nearest(points[i], reference);
      all.x[best] += (unsigned long long)points[i].x;
      all.y[best] += (unsigned long long)points[i].y;
      ++all.count[best];
    }
    update(reference, all);
  }
  std::vector<int> got = owner.read();
  size_t bad = 0;
  for (int i = 0; i < n; ++i) bad += got[i] != want[i];
  std::printf("rounds %d, first centre (%g, %g)\n", rounds, host[0].x, host[0].y);
  return report("kmeans", n, bad, checksum(got));
}
