// case: ho_files_beside_a_kernel
// rule: none
// why: the host reads and writes files through managed and pinned buffers that the kernel in flight could reach and does not touch: nothing may fail or be reported
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

#define CK(call)                                                                    \
  do {                                                                              \
    cudaError_t err_ = (call);                                                      \
    if (err_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

static int verdict(long n, long bad) {
  std::printf("elements=%ld mismatches=%ld\n", n, bad);
  return bad == 0 ? 0 : 2;
}

__global__ void bump(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}

int main() {
  const int n = 4000;
  int *busy;
  char *text, *pinned;
  CK(cudaMallocManaged(&busy, n * sizeof(int)));
  CK(cudaMallocManaged(&text, 65536));
  CK(cudaMallocHost(&pinned, 65536));
  for (int i = 0; i < n; ++i) busy[i] = i;
  for (int i = 0; i < 65536; ++i) pinned[i] = (char)('a' + i % 26);
  FILE *file = std::tmpfile();
  if (file == nullptr) return 1;
  int ends[2];
  if (pipe(ends) != 0) return 1;

  long bad = 0;
  for (int round = 0; round < 3; ++round) {
    bump<<<(n + 255) / 256, 256>>>(busy, n);
    CK(cudaGetLastError());
    std::rewind(file);
    bad += std::fwrite(pinned, 1, 65536, file) != 65536;
    bump<<<(n + 255) / 256, 256>>>(busy, n);
    CK(cudaGetLastError());
    std::rewind(file);
    bad += std::fread(text, 1, 65536, file) != 65536;
    for (int i = 0; i < 65536; ++i) bad += text[i] != pinned[i];
    bump<<<(n + 255) / 256, 256>>>(busy, n);
    CK(cudaGetLastError());
    bad += write(ends[1], text + 5000, 9000) != 9000;
    bad += read(ends[0], text + 30000, 9000) != 9000;
    std::ofstream("/dev/null").write(text, 65536);
    CK(cudaDeviceSynchronize());
  }
  for (int i = 0; i < n; ++i) bad += busy[i] != i + 9;
  std::fclose(file);
  CK(cudaFree(busy));
  CK(cudaFree(text));
  CK(cudaFreeHost(pinned));
  return verdict(n, bad);
}
