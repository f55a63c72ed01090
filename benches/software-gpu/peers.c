// The launches of kernels.cu in OpenCL, for PoCL and Oclgrind: prints the seconds of each, the build not counted.
// One run before the timed one builds the work-group code (PoCL compiles at the first launch).
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 512, TILE = 16, COUNT = 1 << 20, BINS = 256, THREADS = 256 };

static const char *source =
    "kernel void matmul(global const float *a, global const float *b, global float *c) {\n"
    "  local float left[16][16], right[16][16];\n"
    "  int tx = get_local_id(0), ty = get_local_id(1), row = get_group_id(1) * 16 + ty, column = get_group_id(0) * 16 + tx;\n"
    "  float sum = 0.0f;\n"
    "  for (int start = 0; start < 512; start += 16) {\n"
    "    left[ty][tx] = a[row * 512 + start + tx];\n"
    "    right[ty][tx] = b[(start + ty) * 512 + column];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int k = 0; k < 16; ++k) sum += left[ty][k] * right[k][tx];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  c[row * 512 + column] = sum;\n"
    "}\n"
    "kernel void reduce(global const int *in, global int *sum) {\n"
    "  local int part[256];\n"
    "  int t = get_local_id(0);\n"
    "  part[t] = in[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int step = 128; step > 0; step /= 2) {\n"
    "    if (t < step) part[t] += part[t + step];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  }\n"
    "  if (t == 0) atomic_add(sum, part[0]);\n"
    "}\n"
    "kernel void histogram(global const int *in, global int *bins) {\n"
    "  local int mine[256];\n"
    "  int t = get_local_id(0);\n"
    "  mine[t] = 0;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  atomic_inc(&mine[in[get_global_id(0)] & 255]);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (mine[t]) atomic_add(&bins[t], mine[t]);\n"
    "}\n";

static void check(cl_int error, const char *what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL error %d\n", what, error);
  exit(3);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void run(cl_command_queue queue, cl_program program, const char *name, cl_mem *arguments, int count,
                cl_uint dimensions, const size_t *global, const size_t *local, int warm_up) {
  cl_int error;
  cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  for (int i = 0; i < count; ++i) check(clSetKernelArg(kernel, i, sizeof(cl_mem), &arguments[i]), name);
  double start = 0;
  for (int round = warm_up ? 0 : 1; round < 2; ++round) {
    start = now();
    check(clEnqueueNDRangeKernel(queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL), name);
    check(clFinish(queue), name);
  }
  printf("%s %.6f\n", name, now() - start);
}

int main(int argc, char **argv) {
  int warm_up = !(argc > 1 && strcmp(argv[1], "once") == 0);
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  check(clGetPlatformIDs(1, &platform, NULL), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  check(error, "context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "queue");
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  check(error, "program");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
  float *a = malloc(SIDE * SIDE * 4);
  int *in = malloc(COUNT * 4), *zeros = calloc(BINS, 4);
  for (int i = 0; i < SIDE * SIDE; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < COUNT; ++i) in[i] = (int)((unsigned)i * 2654435761u >> 20);
  cl_mem left = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, SIDE * SIDE * 4, a, &error);
  cl_mem product = clCreateBuffer(context, 0, SIDE * SIDE * 4, NULL, &error);
  cl_mem values = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, COUNT * 4, in, &error);
  cl_mem sum = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 4, zeros, &error);
  cl_mem bins = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BINS * 4, zeros, &error);
  check(error, "buffers");
  size_t square[2] = {SIDE, SIDE}, tile[2] = {TILE, TILE}, line[1] = {COUNT}, threads[1] = {THREADS};
  run(queue, program, "matmul", (cl_mem[]){left, left, product}, 3, 2, square, tile, warm_up);
  run(queue, program, "reduce", (cl_mem[]){values, sum}, 2, 1, line, threads, warm_up);
  run(queue, program, "histogram", (cl_mem[]){values, bins}, 2, 1, line, threads, warm_up);
  return 0;
}
