// Runs the kernels that generate.py wrote on a real card and records what they give.
//
//     record FOLDER RECORDING [--tenth SEED --against FIRST]
//
// For each line of FOLDER/plan.txt one kernel runs with one block of 160 threads. Its results are written one after
// the other, each as 160 little-endian values of the register's width (a predicate as one byte). With --tenth only a
// random tenth of the forms runs, in random order, and the rest of the recording is left as zeros; what ran is compared
// with the first recording. Exit status 1: some values differ, or a kernel failed.

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

constexpr int threads = 160;

struct Form {
    std::string module, kernel;
    int sources = 0;
    std::vector<int> widths;
    size_t input = 0, output = 0, bytes = 0;
};

static bool failed(CUresult result, const std::string& what) {
    if (result == CUDA_SUCCESS) return false;
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    std::printf("%s: %s\n", what.c_str(), name ? name : "unknown error");
    return true;
}

static std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string folder = argv[1], out = argv[2];
    const bool tenth = argc > 6;
    std::vector<Form> forms;
    std::istringstream plan(contents(folder + "/plan.txt"));
    size_t input_words = 0, output_bytes = 0;
    for (std::string line; std::getline(plan, line);) {
        std::istringstream words(line);
        Form form;
        words >> form.module >> form.kernel >> form.sources;
        for (std::string type; words >> type;) {
            form.widths.push_back(type == "pred" ? 1 : std::atoi(type.c_str() + 1) / 8);
            form.bytes += threads * form.widths.back();
        }
        form.input = input_words;
        form.output = output_bytes;
        input_words += size_t(threads) * form.sources;
        output_bytes += form.bytes;
        forms.push_back(form);
    }
    const std::string inputs = contents(folder + "/inputs.bin");
    if (inputs.size() != input_words * 8) {
        std::printf("inputs.bin has %zu bytes, not %zu\n", inputs.size(), input_words * 8);
        return 2;
    }
    std::vector<size_t> order(forms.size());
    for (size_t at = 0; at < order.size(); ++at) order[at] = at;
    if (tenth) {
        std::mt19937_64 random(std::strtoull(argv[4], nullptr, 10));
        std::shuffle(order.begin(), order.end(), random);
        order.resize(order.size() / 10);
    }
    if (failed(cuInit(0), "cuInit")) return 2;
    CUdevice device;
    CUcontext context;
    CUdeviceptr input = 0, output = 0, scratch = 0;
    std::map<std::string, CUmodule> modules;
    const size_t output_words = threads * 64;
    auto start = [&]() {
        modules.clear();
        return failed(cuDeviceGet(&device, 0), "cuDeviceGet") ||
               failed(cuDevicePrimaryCtxRetain(&context, device), "context") ||
               failed(cuCtxSetCurrent(context), "context") ||
               failed(cuMemAlloc(&input, threads * 64 * 8), "memory") ||
               failed(cuMemAlloc(&output, output_words * 8), "memory") ||
               failed(cuMemAlloc(&scratch, threads * 64), "memory");
    };
    if (start()) return 2;
    std::vector<uint8_t> recording(output_bytes);
    std::vector<uint64_t> words(output_words);
    int failures = 0;
    for (size_t at : order) {
        const Form& form = forms[at];
        const std::string what = form.module + " " + form.kernel;
        CUmodule& module = modules[form.module];
        CUfunction function;
        void* arguments[] = {&input, &output, &scratch};
        bool bad = !module && failed(cuModuleLoad(&module, (folder + "/" + form.module + ".cubin").c_str()), what);
        bad = bad || failed(cuModuleGetFunction(&function, module, form.kernel.c_str()), what) ||
              failed(cuMemcpyHtoD(input, inputs.data() + form.input * 8, size_t(threads) * form.sources * 8), what) ||
              failed(cuMemsetD8(output, 0, output_words * 8), what) ||
              failed(cuMemsetD8(scratch, 0, threads * 64), what) ||
              failed(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr), what) ||
              failed(cuCtxSynchronize(), what) ||
              failed(cuMemcpyDtoH(words.data(), output, form.widths.size() * threads * 8), what);
        if (bad) {
            ++failures;
            cuDevicePrimaryCtxRelease(device);
            cuDevicePrimaryCtxReset(device);
            if (start()) return 2;
            continue;
        }
        size_t to = form.output, from = 0;
        for (int width : form.widths) {
            for (int thread = 0; thread < threads; ++thread, to += width) {
                std::memcpy(&recording[to], &words[from++], width);
            }
        }
    }
    std::ofstream(out, std::ios::binary).write(reinterpret_cast<char*>(recording.data()), recording.size());
    std::printf("%zu forms ran, %d failed, %zu bytes\n", order.size(), failures, output_bytes);
    size_t differing = 0, compared = 0;
    if (tenth) {
        const std::string first = contents(argv[6]);
        for (size_t at : order) {
            const Form& form = forms[at];
            ++compared;
            if (std::memcmp(first.data() + form.output, &recording[form.output], form.bytes) != 0) {
                ++differing;
                std::printf("differs: %s %s\n", form.module.c_str(), form.kernel.c_str());
            }
        }
        std::printf("second recording: %zu forms compared with the first, %zu differ\n", compared, differing);
    }
    return failures || differing ? 1 : 0;
}
