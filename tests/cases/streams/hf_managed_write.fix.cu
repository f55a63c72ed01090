// case: hf_managed_write
// rule: none
// why: the stream of the host function waits for the kernel
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

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

__global__ void negate(const int *from, int *to, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = -from[i];
}

struct Refill {
  int *data;
  int n;
};

static void CUDART_CB refill(void *arg) {
  Refill *r = static_cast<Refill *>(arg);
  for (int i = 0; i < r->n; ++i) r->data[i] = 7;
}

int main() {
  const int n = 1100;
  int *from, *to;
  cudaStream_t work, tail;
  cudaEvent_t done;
  CK(cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&tail, cudaStreamNonBlocking));
  CK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CK(cudaMallocManaged(&from, n * sizeof(int)));
  CK(cudaMallocManaged(&to, n * sizeof(int)));
  for (int i = 0; i < n; ++i) from[i] = i;
  Refill r = {from, n};

  negate<<<(n + 255) / 256, 256, 0, work>>>(from, to, n);
  CK(cudaGetLastError());
  CK(cudaEventRecord(done, work));
  CK(cudaStreamWaitEvent(tail, done, 0));
  CK(cudaLaunchHostFunc(tail, refill, &r));
  CK(cudaDeviceSynchronize());

  long bad = 0;
  for (int i = 0; i < n; ++i) bad += to[i] != -i || from[i] != 7;
  CK(cudaEventDestroy(done));
  for (cudaStream_t s : {work, tail}) CK(cudaStreamDestroy(s));
  CK(cudaFree(from));
  CK(cudaFree(to));
  return verdict(n, bad);
}
