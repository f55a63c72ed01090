/* A stand-in for a CUDA program: one thread stands in a synchronisation for ever. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int cudaDeviceSynchronize(void) {
    for (;;) pause();
    return 0;
}

__attribute__((noinline)) static int finish(void) {
    int code = cudaDeviceSynchronize();
    return code + 1;
}

static void *other(void *unused) {
    for (;;) sleep(100);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    puts("ready");
    fflush(stdout);
    return finish();
}
