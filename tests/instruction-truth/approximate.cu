// Writes how far the card's approximate functions are from the correctly rounded ones, for every significand.
//
//     approximate OUT
//
// OUT/NAME.bin holds one signed byte for each input in order of its bits: the card's bits less the bits of the correctly
// rounded value, between -127 and 127. Inputs are all single-precision numbers of the named ranges, one after the other.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

template <int F> __device__ float card(float x) {
    float y;
    if constexpr (F == 0) asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 1) asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 2) asm volatile("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 3) asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 4) asm volatile("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 5) asm volatile("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    if constexpr (F == 6) asm volatile("cos.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

template <int F> __device__ double exact(float x) {
    const double d = x;
    // The card first takes angles as turns, cut off to single precision.
    const double turns = __fmul_rz(x, 0.15915494f);
    if constexpr (F == 0) return 1.0 / d;
    if constexpr (F == 1) return 1.0 / sqrt(d);
    if constexpr (F == 2) return sqrt(d);
    if constexpr (F == 3) return exp2(d);
    if constexpr (F == 4) return log2(d);
    if constexpr (F == 5) return sinpi(2.0 * turns);
    return cospi(2.0 * turns);
}

template <int F> __global__ void compare(uint32_t first, int8_t* out) {
    const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = __uint_as_float(first + at);
    const int difference = int(__float_as_uint(card<F>(x))) - int(__float_as_uint(float(exact<F>(x))));
    out[at] = int8_t(max(-127, min(127, difference)));
}

template <int F> bool dump(const std::string& folder, const char* name, std::vector<float> starts) {
    constexpr uint32_t count = 1 << 23;
    int8_t* device = nullptr;
    std::vector<int8_t> host(count);
    if (cudaMalloc(&device, count) != cudaSuccess) return false;
    FILE* file = std::fopen((folder + "/" + name + ".bin").c_str(), "wb");
    for (float start : starts) {
        uint32_t first;
        static_assert(sizeof first == sizeof start);
        __builtin_memcpy(&first, &start, 4);
        compare<F><<<count / 256, 256>>>(first, device);
        if (cudaMemcpy(host.data(), device, count, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
        size_t off = 0;
        int least = 0, greatest = 0;
        for (int8_t value : host) {
            off += value != 0;
            least = std::min<int>(least, value);
            greatest = std::max<int>(greatest, value);
        }
        std::printf("%s from %g: %zu of %u differ, %d to %d\n", name, start, off, count, least, greatest);
        std::fwrite(host.data(), 1, count, file);
    }
    std::fclose(file);
    cudaFree(device);
    return true;
}

int main(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    bool good = dump<0>(folder, "rcp", {1.0f}) && dump<1>(folder, "rsqrt", {1.0f, 2.0f}) &&
                dump<2>(folder, "sqrt", {1.0f, 2.0f}) && dump<3>(folder, "ex2", {0.25f, 0.5f, 1.0f, -1.0f}) &&
                dump<4>(folder, "lg2", {0.5f, 1.0f, 2.0f}) && dump<5>(folder, "sin", {0.5f, 1.0f, 2.0f}) &&
                dump<6>(folder, "cos", {0.5f, 1.0f, 2.0f});
    return good ? 0 : 1;
}
