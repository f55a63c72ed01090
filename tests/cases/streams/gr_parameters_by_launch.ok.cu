// case: gr_parameters_by_launch
// rule: none
// why: the kernel of an executable graph is given another buffer for each launch, and each buffer is read once when all is done
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

__global__ void put(int *p, int n, int base) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i + base;
}

__global__ void plus(const int *p, int *q, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] = p[i] + by;
}

int main() {
  const int n = 2300, grid = (n + 127) / 128, rounds = 5;
  int *d_p, *h_p;
  cudaStream_t s;
  CK(cudaMalloc(&d_p, rounds * n * sizeof(int)));
  CK(cudaMallocHost(&h_p, rounds * n * sizeof(int)));
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
  int *to = d_p, count = n, base = 0;
  void *arguments[] = {&to, &count, &base};
  cudaKernelNodeParams parameters = {};
  parameters.func = reinterpret_cast<void *>(put);
  parameters.gridDim = dim3(grid);
  parameters.blockDim = dim3(128);
  parameters.kernelParams = arguments;
  CK(cudaGraphCreate(&graph, 0));
  CK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  CK(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < rounds; ++round) {
    to = d_p + round * n;
    base = round;
    CK(cudaGraphExecKernelNodeSetParams(exec, node, &parameters));
    CK(cudaGraphLaunch(exec, s));
  }
  CK(cudaMemcpyAsync(h_p, d_p, rounds * n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));

  long bad = 0;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < n; ++i) bad += h_p[round * n + i] != i + round;
  CK(cudaGraphExecDestroy(exec));
  CK(cudaGraphDestroy(graph));
  CK(cudaFree(d_p));
  CK(cudaFreeHost(h_p));
  return verdict(rounds * n, bad);
}
