// The hang laboratory: three kernels that never return, and their mended twins, each in a process under a watchdog.
//
//   make && ./hang_lab        the table; exit code 0 when all fixed variants pass, whatever the others do
//   ./hang_lab --live 1       one buggy case in this process, to look at it (2 and 3 likewise)
//   ./hang_lab --live 1 fix   the fixed variant; `race` for case 1: no hang any more, and a race
//   standstill run --timeout 5s -- ./hang_lab --live 1
#include "cases.cuh"
#include "watchdog.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum Variant { kBug, kFix, kRace };

constexpr double kSeconds = 5;
constexpr int kThreads = 256;

#define CHECK(call)                                                                                                   \
  do {                                                                                                                \
    cudaError_t error_ = (call);                                                                                      \
    if (error_ != cudaSuccess) {                                                                                      \
      fprintf(report, "%s (line %d)\n", cudaGetErrorString(error_), __LINE__);                                        \
      return 1;                                                                                                       \
    }                                                                                                                 \
  } while (0)

static int barrier_in_if(FILE *report, Variant variant) {
  int host_in[kHalf], host_out[kHalf];
  for (int i = 0; i < kHalf; ++i)
    host_in[i] = 7 * i + 1;
  int *in, *out, *flag;
  CHECK(cudaMalloc(&in, sizeof host_in));
  CHECK(cudaMalloc(&out, sizeof host_out));
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMemcpy(in, host_in, sizeof host_in, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0xff, sizeof host_out));
  CHECK(cudaMemset(flag, 0, sizeof(int)));
  if (variant == kBug)
    handoff_bug<<<1, kThreads>>>(in, out, flag);
  else if (variant == kRace)
    handoff_race<<<1, kThreads>>>(in, out, flag);
  else
    handoff_fix<<<1, kThreads>>>(in, out, flag);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host_out, out, sizeof host_out, cudaMemcpyDeviceToHost));
  int mismatches = 0;
  for (int i = 0; i < kHalf; ++i)
    mismatches += host_out[i] != 3 * host_in[i];
  if (mismatches)
    fprintf(report, "completed, %d of %d values wrong\n", mismatches, kHalf);
  else
    fprintf(report, "completed and passed its check\n");
  return mismatches ? 2 : 0;
}

static int capacity_of(int *capacity, FILE *report) {
  int device = 0, multiprocessors = 0, blocks = 0;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_barrier, kThreads, 0));
  *capacity = multiprocessors * blocks;
  return 0;
}

static int over_capacity(FILE *report, Variant variant) {
  int capacity = 0;
  if (capacity_of(&capacity, report))
    return 1;
  int blocks = capacity + (variant == kBug ? 1 : 0);
  std::vector<int> host_out(blocks, -1);
  int *data, *out, *count;
  CHECK(cudaMalloc(&data, blocks * sizeof(int)));
  CHECK(cudaMalloc(&out, blocks * sizeof(int)));
  CHECK(cudaMalloc(&count, sizeof(int)));
  CHECK(cudaMemset(count, 0, sizeof(int)));
  grid_barrier<<<blocks, kThreads>>>(data, out, count);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host_out.data(), out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  int mismatches = 0;
  for (int i = 0; i < blocks; ++i)
    mismatches += host_out[i] != (i + 1) % blocks + 1;
  if (mismatches)
    fprintf(report, "completed, %d of %d values wrong\n", mismatches, blocks);
  else
    fprintf(report, "%d blocks launched, passed\n", blocks);
  return mismatches ? 2 : 0;
}

static int exact_exit(FILE *report, Variant variant) {
  constexpr int kN = 32;
  float host_in[kN], host_total[kN];
  int host_steps[kN];
  for (int i = 0; i < kN; ++i)
    host_in[i] = 0.1f;
  float *in, *total;
  int *steps;
  CHECK(cudaMalloc(&in, sizeof host_in));
  CHECK(cudaMalloc(&total, sizeof host_total));
  CHECK(cudaMalloc(&steps, sizeof host_steps));
  CHECK(cudaMemcpy(in, host_in, sizeof host_in, cudaMemcpyHostToDevice));
  if (variant == kBug)
    steps_bug<<<1, kN>>>(in, kN, steps, total);
  else
    steps_fix<<<1, kN>>>(in, kN, steps, total);
  CHECK(cudaGetLastError());
  // The copy waits for the kernel: it is the call in which a hang shows, and it is innocent.
  CHECK(cudaMemcpy(host_steps, steps, sizeof host_steps, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(host_total, total, sizeof host_total, cudaMemcpyDeviceToHost));
  int mismatches = 0;
  for (int i = 0; i < kN; ++i)
    mismatches += host_steps[i] != 10 || host_total[i] != 1.00000012f;
  if (mismatches)
    fprintf(report, "completed, %d of %d threads wrong\n", mismatches, kN);
  else
    fprintf(report, "10 steps everywhere, final total %.8f\n", host_total[0]);
  return mismatches ? 2 : 0;
}

// A cooperative launch refuses what does not fit instead of hanging.
static int cooperative(FILE *report) {
  int capacity = 0;
  if (capacity_of(&capacity, report))
    return 1;
  int *data, *out, *count;
  CHECK(cudaMalloc(&data, (capacity + 1) * sizeof(int)));
  CHECK(cudaMalloc(&out, (capacity + 1) * sizeof(int)));
  CHECK(cudaMalloc(&count, sizeof(int)));
  CHECK(cudaMemset(count, 0, sizeof(int)));
  void *arguments[] = {&data, &out, &count};
  cudaError_t error = cudaLaunchCooperativeKernel((const void *)grid_barrier, dim3(capacity + 1), dim3(kThreads),
                                                  arguments, 0, nullptr);
  CHECK(cudaDeviceSynchronize());
  fprintf(report, "%s\n", error == cudaSuccess ? "was not refused" : cudaGetErrorString(error));
  return error == cudaErrorCooperativeLaunchTooLarge ? 0 : 2;
}

static int card(FILE *report) {
  int device = 0, limit = 0, major = 0, minor = 0, multiprocessors = 0, driver = 0, runtime = 0;
  CHECK(cudaGetDevice(&device));
  // cudaDeviceProp has lost this field with CUDA 13; the attribute is in all versions.
  CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrKernelExecTimeout, device));
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  fprintf(report, "compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d, runtime %d.%d\n", major, minor,
          multiprocessors, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  fprintf(report, "run-time limit on kernels: %s\n",
          limit ? "yes, the driver ends long kernels" : "no, a stuck kernel stays until its process ends");
  return 0;
}

struct Case {
  const char *name;
  int (*run)(FILE *report, Variant variant);
};

static const Case kCases[] = {
    {"1, barrier in an if", barrier_in_if},
    {"2, grid barrier, one block over capacity", over_capacity},
    {"3, x != 1.0f", exact_exit},
};

// Standstill's software GPU needs no watchdog, and more time for the same work.
static bool on_software_gpu() { return getenv("STANDSTILL_GPU") != nullptr; }

static double patience() { return on_software_gpu() ? 600 : kSeconds; }

static std::string words(const Outcome &outcome) {
  if (outcome.killed)
    return "killed by the watchdog after 5 s";
  if (!outcome.text.empty())
    return outcome.text;
  // A process that can only hang is ended before it could say anything.
  if (outcome.code == 1 && on_software_gpu())
    return "found to hang, see the report";
  return "ended with code " + std::to_string(outcome.code);
}

static int table() {
  Outcome device = watched(60, card);
  printf("%s\n\n", words(device).c_str());
  if (device.code != 0)
    return 1;
  printf("| %-40s | %-48s | %-32s |\n", "case", "fixed variant", "buggy variant");
  printf("|------------------------------------------|--------------------------------------------------|"
         "----------------------------------|\n");
  bool passed = true;
  for (const Case &one : kCases) {
    Outcome fixed = watched(patience(), [&](FILE *report) { return one.run(report, kFix); });
    Outcome buggy = watched(patience(), [&](FILE *report) { return one.run(report, kBug); });
    // A buggy variant that ends is worth knowing, and no failure.
    passed = passed && !fixed.killed && fixed.code == 0;
    printf("| %-40s | %-48s | %-32s |\n", one.name, words(fixed).c_str(), words(buggy).c_str());
    fflush(stdout);
  }
  Outcome refused = watched(patience(), cooperative);
  printf("\ncooperative launch of one block over capacity: %s\n", words(refused).c_str());
  return passed ? 0 : 1;
}

static int live(int number, Variant variant) {
  if (number < 1 || number > 3) {
    fprintf(stderr, "there are the cases 1, 2 and 3\n");
    return 1;
  }
  printf("case %s, %s variant, in process %d\n", kCases[number - 1].name,
         variant == kFix ? "fixed" : variant == kRace ? "racing" : "buggy", (int)getpid());
  fflush(stdout);
  return kCases[number - 1].run(stdout, variant);
}

int main(int argc, char **argv) {
  if (argc == 1)
    return table();
  if (argc >= 3 && argc <= 4 && !strcmp(argv[1], "--live")) {
    const char *variant = argc == 4 ? argv[3] : "bug";
    return live(atoi(argv[2]), !strcmp(variant, "fix") ? kFix : !strcmp(variant, "race") ? kRace : kBug);
  }
  fprintf(stderr, "usage: hang_lab [--live 1|2|3 [bug|fix|race]]\n");
  return 1;
}
