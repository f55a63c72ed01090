// Transpose through a padded tile, with pitched memory and two-dimensional copies.
#include "program.h"

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(const double *in, size_t in_pitch, double *out, size_t out_pitch, int width, int height) {
  __shared__ double tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += ROWS) {
    int y = blockIdx.y * TILE + j;
    if (x < width && y < height) tile[j][threadIdx.x] = ((const double *)((const char *)in + y * in_pitch))[x];
  }
  __syncthreads();
  int row_of_out = blockIdx.x * TILE, column = blockIdx.y * TILE + threadIdx.x;
  for (int j = threadIdx.y; j < TILE; j += ROWS)
    if (row_of_out + j < width && column < height)
      ((double *)((char *)out + (row_of_out + j) * out_pitch))[column] = tile[threadIdx.x][j];
}

int main() {
  const int width = 201, height = 115;
  Random random(8);
  std::vector<double> in(width * height), got(width * height);
  for (double &x : in) x = random.unit() * 1e9 + random.next();
  double *a, *b;
  size_t a_pitch, b_pitch;
  CHECK(cudaMallocPitch(&a, &a_pitch, width * sizeof(double), height));
  CHECK(cudaMallocPitch(&b, &b_pitch, height * sizeof(double), width));
  CHECK(cudaMemcpy2D(a, a_pitch, in.data(), width * sizeof(double), width * sizeof(double), height,
                     cudaMemcpyHostToDevice));
  dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, ROWS)>>>(a, a_pitch, b, b_pitch, width, height);
  after_launch();
  CHECK(cudaMemcpy2D(got.data(), height * sizeof(double), b, b_pitch, height * sizeof(double), width,
                     cudaMemcpyDeviceToHost));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  size_t bad = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) bad += got[x * height + y] != in[y * width + x];
  return report("transpose", got.size(), bad, checksum(got));
}
