// Tiled matrix product with both tiles in shared memory; sizes that are no multiple of the tile.
#include "program.h"
#include <cmath>

constexpr int TILE = 16;

__global__ void matmul(const float *a, const float *b, float *c, int rows, int inner, int columns) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < inner; start += TILE) {
    int k = start + threadIdx.x;
    left[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0.0f;
    k = start + threadIdx.y;
    right[threadIdx.y][threadIdx.x] = column < columns && k < inner ? b[k * columns + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

int main() {
  const int rows = 100, inner = 77, columns = 130;
  Random random(1);
  std::vector<float> a(rows * inner), b(inner * columns);
  for (float &x : a) x = random.unit() - 0.5f;
  for (float &x : b) x = random.unit() - 0.5f;
  Buffer<float> device_a(a), device_b(b), device_c(rows * columns);
  dim3 block(TILE, TILE), grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  matmul<<<grid, block>>>(device_a.pointer, device_b.pointer, device_c.pointer, rows, inner, columns);
  after_launch();
  std::vector<float> c = device_c.read();
  size_t bad = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      float sum = 0.0f;
      for (int k = 0; k < inner; ++k) sum = std::fmaf(a[i * inner + k], b[k * columns + j], sum);
      bad += sum != c[i * columns + j];
    }
  return report("matmul", c.size(), bad, checksum(c));
}
