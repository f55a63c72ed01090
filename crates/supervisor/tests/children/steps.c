/* A stand-in for a healthy CUDA program: it waits again and again, a tenth of a second each time. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) int cudaStreamSynchronize(int stream) {
    usleep(100000);
    return stream;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 1;
    int failed = 0;
    for (int i = 0; i < steps; ++i)
        failed |= cudaStreamSynchronize(0);
    return failed;
}
