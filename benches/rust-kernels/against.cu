// Times the kernels of a PTX file (written from Rust) and the same ones in CUDA C++, in turns in one process, and compares what they
// compute. Usage: against rust.ptx
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>
#include <cuda.h>
#include "kernels.cuh"

static void must(int answer, const char* what) { if (answer) { std::printf("%s: %d\n", what, answer); std::exit(1); } }
#define MUST(call) must((int)(call), #call)

struct Pair { CUfunction rust; cudaFunction_t cuda; };

static float once(CUfunction f, dim3 grid, dim3 block, void** values) {
    static cudaEvent_t from, to;
    if (!from) { MUST(cudaEventCreate(&from)); MUST(cudaEventCreate(&to)); }
    MUST(cudaEventRecord(from));
    MUST(cuLaunchKernel(f, grid.x, grid.y, 1, block.x, block.y, 1, 0, nullptr, values, nullptr));
    MUST(cudaEventRecord(to));
    MUST(cudaEventSynchronize(to));
    float ms; MUST(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

template <class Prepare, class Check>
static void race(const char* name, Pair pair, dim3 grid, dim3 block, void** values, Prepare prepare, Check check) {
    std::vector<float> rust, cuda, ratio;
    int registers[2];
    MUST(cuFuncGetAttribute(&registers[0], CU_FUNC_ATTRIBUTE_NUM_REGS, pair.rust));
    MUST(cuFuncGetAttribute(&registers[1], CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)pair.cuda));
    bool right = true;
    for (int turn = 0; turn < 43; ++turn) {
        float ms[2];
        for (int k = 0; k < 2; ++k) {
            int which = (k + turn) % 2;
            prepare();
            ms[which] = once(which ? (CUfunction)pair.cuda : pair.rust, grid, block, values);
            right &= check();
        }
        if (turn < 2) continue;  // The first ones warm up.
        rust.push_back(ms[0]); cuda.push_back(ms[1]); ratio.push_back(ms[0] / ms[1]);
    }
    auto median = [](std::vector<float> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; };
    std::printf("%-22s %9.4f %9.4f %7.3f %5d %5d  %s\n", name, median(rust), median(cuda), median(ratio), registers[0], registers[1], right ? "right" : "WRONG");
}

int main(int, char** words) {
    std::stringstream text; text << std::ifstream(words[1]).rdbuf();
    MUST(cudaFree(nullptr));
    CUmodule module;
    MUST(cuModuleLoadData(&module, text.str().c_str()));
    auto pair = [&](const char* name, const void* cuda) {
        Pair pair;
        MUST(cuModuleGetFunction(&pair.rust, module, name));
        MUST(cudaGetFuncBySymbol(&pair.cuda, cuda));
        return pair;
    };
    std::printf("%-22s %9s %9s %7s %5s %5s\n", "kernel", "Rust ms", "C++ ms", "ratio", "regs", "regs");
    unsigned one = 1, sizes[] = {1, 32, 1024, 1u << 20};
    for (unsigned size : sizes) {
        // As many multiplications in all as keep the card busy for a while.
        unsigned rounds = size < 1024 ? 1 : size == 1024 ? 8 : 64, mask = size - 1;
        unsigned blocks = size == 1 ? 16 : size == 32 ? 132 : 132 * 8;
        length_t length = size;
        unsigned* numbers; MUST(cudaMalloc(&numbers, size * 4ull));
        std::vector<unsigned> expected(size, 1), host(size);
        for (unsigned x = 0; x < blocks * 256; ++x)
            for (unsigned r = 0; r < rounds; ++r) expected[(((x + r * 7919u) * 2654435761u) >> 7) & mask] *= 3;
        std::vector<unsigned> ones(size, 1);
        unsigned cells = blocks * 256;
        void* values[] = {&numbers, &mask, &rounds, &length, &cells, &one, &one};
        char name[40]; std::snprintf(name, 40, "multiply, %u", size);
        race(name, pair("multiply", (void*)multiply), blocks, 256, values,
             [&] { MUST(cudaMemcpy(numbers, ones.data(), size * 4ull, cudaMemcpyHostToDevice)); },
             [&] { MUST(cudaMemcpy(host.data(), numbers, size * 4ull, cudaMemcpyDeviceToHost)); return host == expected; });
        MUST(cudaFree(numbers));
    }
    const unsigned n = 1 << 26, blocks = 132 * 16, cells = blocks * 256;
    length_t length = n, single = 1, bins = 256;
    std::vector<float> ones(n, 1.0f);
    float *x, *y, *sum, a = 2, got;
    MUST(cudaMalloc(&x, n * 4ull)); MUST(cudaMalloc(&y, n * 4ull)); MUST(cudaMalloc(&sum, 4));
    MUST(cudaMemcpy(x, ones.data(), n * 4ull, cudaMemcpyHostToDevice)); MUST(cudaMemcpy(y, ones.data(), n * 4ull, cudaMemcpyHostToDevice));
    void* saxpy_values[] = {&x, &y, &a, &length, &length, (void*)&cells, &one, &one};
    race("saxpy, 64 M", pair("saxpy", (void*)saxpy), blocks, 256, saxpy_values,
         [&] { MUST(cudaMemcpy(y, ones.data(), 4, cudaMemcpyHostToDevice)); },
         [&] { MUST(cudaMemcpy(&got, y, 4, cudaMemcpyDeviceToHost)); return got == 3; });
    length_t fewer = 1 << 24;  // What single precision still counts.
    void* dot_values[] = {&x, &x, &sum, &fewer, &fewer, &single, (void*)&cells, &one, &one};
    race("dot, 16 M", pair("dot", (void*)dot), blocks, 256, dot_values,
         [&] { MUST(cudaMemset(sum, 0, 4)); },
         [&] { MUST(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost)); return got == fewer; });
    unsigned char* bytes = (unsigned char*)x; unsigned* counts; std::vector<unsigned> seen(256);
    std::vector<unsigned char> chars(n); for (unsigned i = 0; i < n; ++i) chars[i] = (i * 2654435761u) >> 24;
    MUST(cudaMemcpy(bytes, chars.data(), n, cudaMemcpyHostToDevice)); MUST(cudaMalloc(&counts, 1024));
    void* histogram_values[] = {&bytes, &counts, &length, &bins, (void*)&cells, &one, &one};
    race("histogram, 64 M", pair("histogram", (void*)histogram), blocks, 256, histogram_values,
         [&] { MUST(cudaMemset(counts, 0, 1024)); },
         [&] { MUST(cudaMemcpy(seen.data(), counts, 1024, cudaMemcpyDeviceToHost)); unsigned all = 0; for (unsigned c : seen) all += c; return all == n; });
    unsigned side = 2048; length_t area = 2048ull * 2048;
    MUST(cudaMemcpy(x, ones.data(), area * 4, cudaMemcpyHostToDevice));
    void* matmul_values[] = {&x, &x, &y, &side, &area, &area, &area, &side, &side, &one};
    race("matmul, 2048", pair("matmul", (void*)matmul), dim3(128, 128), dim3(16, 16), matmul_values, [&] { MUST(cudaMemset(y, 0, 4)); },
         [&] { MUST(cudaMemcpy(&got, y, 4, cudaMemcpyDeviceToHost)); return got == 2048; });
}
