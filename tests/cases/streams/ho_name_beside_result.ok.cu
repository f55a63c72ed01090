// case: ho_name_beside_result
// rule: none
// why: the host takes the length of a name that stands behind the number that the kernel in flight writes: library functions read whole vectors, but the bytes that they were asked for are others
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

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

__global__ void answer(int *p) { *p = 6 * 7; }

int main() {
  char *page;
  CK(cudaMallocManaged(&page, 4096));
  int *result = reinterpret_cast<int *>(page + 4064);
  char *name = page + 4070;
  std::strcpy(name, "a name of some bytes");
  answer<<<1, 1>>>(result);
  CK(cudaGetLastError());
  long bad = std::strlen(name) != 20;
  CK(cudaDeviceSynchronize());
  bad += *result != 42;
  CK(cudaFree(page));
  return verdict(1, bad);
}
