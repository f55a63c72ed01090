// Three kernels for timing the software GPU: a 512×512 tiled matrix product, a sum and a histogram of 2^20 values;
// and the sum once more in 64 blocks only.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <time.h>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) { \
  std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error_)); std::exit(3); } } while (0)

constexpr int SIDE = 512, TILE = 16, COUNT = 1 << 20, BINS = 256, THREADS = 256;

__global__ void matmul(const float *a, const float *b, float *c) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < SIDE; start += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * SIDE + start + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * SIDE + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * SIDE + column] = sum;
}

__global__ void reduce(const int *in, int *sum) {
  __shared__ int part[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  part[threadIdx.x] = in[i];
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

__global__ void histogram(const int *in, int *bins) {
  __shared__ int mine[BINS];
  mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[in[blockIdx.x * THREADS + threadIdx.x] & (BINS - 1)], 1);
  __syncthreads();
  if (mine[threadIdx.x]) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

static double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

template <typename Launch> static void timed(const char *name, Launch launch) {
  double start = now();
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("%s %.6f\n", name, now() - start);
}

int main() {
  std::vector<float> a(SIDE * SIDE);
  std::vector<int> in(COUNT);
  for (int i = 0; i < SIDE * SIDE; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < COUNT; ++i) in[i] = (int)((unsigned)i * 2654435761u >> 20);
  float *left, *product;
  int *values, *sum, *bins, *other;
  CHECK(cudaMalloc(&left, a.size() * 4));
  CHECK(cudaMalloc(&product, a.size() * 4));
  CHECK(cudaMalloc(&values, COUNT * 4));
  CHECK(cudaMalloc(&sum, 4));
  CHECK(cudaMalloc(&bins, BINS * 4));
  CHECK(cudaMalloc(&other, 4));
  CHECK(cudaMemcpy(left, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(values, in.data(), COUNT * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sum, 0, 4));
  CHECK(cudaMemset(other, 0, 4));
  CHECK(cudaMemset(bins, 0, BINS * 4));
  timed("matmul", [&] { matmul<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(left, left, product); });
  timed("reduce", [&] { reduce<<<COUNT / THREADS, THREADS>>>(values, sum); });
  timed("histogram", [&] { histogram<<<COUNT / THREADS, THREADS>>>(values, bins); });
  timed("small", [&] { reduce<<<64, THREADS>>>(values, other); });
  int got = 0, want = 0, counted = 0;
  std::vector<int> counts(BINS);
  CHECK(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(counts.data(), bins, BINS * 4, cudaMemcpyDeviceToHost));
  for (int x : in) want = (int)((unsigned)want + (unsigned)x);
  for (int x : counts) counted += x;
  return got == want && counted == COUNT ? 0 : 2;
}
