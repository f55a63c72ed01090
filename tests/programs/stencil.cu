// Heat on a plate: a five-point stencil with a halo in shared memory, two buffers, many steps in one stream.
#include "program.h"
#include <cmath>

constexpr int TILE_X = 32, TILE_Y = 8;

__global__ void step(const float *in, float *out, int width, int height) {
  __shared__ float tile[TILE_Y + 2][TILE_X + 2];
  int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
  for (int j = threadIdx.y; j < TILE_Y + 2; j += TILE_Y)
    for (int i = threadIdx.x; i < TILE_X + 2; i += TILE_X) {
      int from_x = min(max((int)(blockIdx.x * TILE_X) + i - 1, 0), width - 1);
      int from_y = min(max((int)(blockIdx.y * TILE_Y) + j - 1, 0), height - 1);
      tile[j][i] = in[from_y * width + from_x];
    }
  __syncthreads();
  if (x >= width || y >= height) return;
  int i = threadIdx.x + 1, j = threadIdx.y + 1;
  float around = (tile[j - 1][i] + tile[j + 1][i]) + (tile[j][i - 1] + tile[j][i + 1]);
  out[y * width + x] = fmaf(0.2f, fmaf(-4.0f, tile[j][i], around), tile[j][i]);
}

static void on_the_cpu(const std::vector<float> &in, std::vector<float> &out, int width, int height) {
  auto at = [&](int x, int y) {
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return in[y * width + x];
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float around = (at(x, y - 1) + at(x, y + 1)) + (at(x - 1, y) + at(x + 1, y));
      out[y * width + x] = std::fmaf(0.2f, std::fmaf(-4.0f, at(x, y), around), at(x, y));
    }
}

int main() {
  const int width = 150, height = 97, steps = 20;
  std::vector<float> plate(width * height, 0.0f), next(width * height);
  Random random(7);
  for (int k = 0; k < 200; ++k) plate[random.next() % plate.size()] = random.unit() * 100.0f;
  Buffer<float> a(plate), b(plate.size());
  float *in = a.pointer, *out = b.pointer;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  dim3 block(TILE_X, TILE_Y), grid((width + TILE_X - 1) / TILE_X, (height + TILE_Y - 1) / TILE_Y);
  for (int k = 0; k < steps; ++k) {
    step<<<grid, block, 0, stream>>>(in, out, width, height);
    std::swap(in, out);
    on_the_cpu(plate, next, width, height);
    plate.swap(next);
  }
  std::vector<float> got(plate.size());
  CHECK(cudaMemcpyAsync(got.data(), in, got.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  size_t bad = 0;
  for (size_t i = 0; i < got.size(); ++i) bad += got[i] != plate[i];
  return report("stencil", got.size(), bad, checksum(got));
}
