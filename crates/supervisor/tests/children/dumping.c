/* A stand-in for the CUDA driver's dump thread: makes the pipe, and writes a file when something is written to it.
 * MODE: copy FILE (that file, then abort), full (a whole ELF file, then abort), stays (a whole file, goes on), cut (half a file, then silence),
 * silent (nothing), spinning (nothing, and the program polls), works (nothing for a while, but at work; then a whole file), endless (nothing, but at work), crash (half a file, then the process dies), disk (writes until the disk is full). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *mode, *given;

static void expand(const char *pattern, char *out, size_t size) {
    const char *mark = strstr(pattern, "%p");
    if (!mark) exit(3);
    snprintf(out, size, "%.*s%d%s", (int)(mark - pattern), pattern, (int)getpid(), mark + 2);
}

static void put(unsigned char *at, unsigned long value, int bytes) {
    for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> (8 * i));
}

static void work_for(int seconds) {
    time_t end = time(0) + seconds;
    while (time(0) <= end) {}
}

static void *dump(void *unused) {
    char pipe[4096], core[4096];
    static unsigned char file[1 << 16], buffer[1 << 16];
    expand(getenv("CUDA_COREDUMP_PIPE"), pipe, sizeof pipe);
    expand(getenv("CUDA_COREDUMP_FILE"), core, sizeof core);
    if (mkfifo(pipe, 0600)) exit(4);
    puts("ready");
    fflush(stdout);
    int in;
again:
    in = open(pipe, O_RDONLY);
    long wanted = 1 << 20;
    while (wanted > 0) {
        long got = read(in, buffer, sizeof buffer);
        if (got <= 0) break;
        wanted -= got;
    }
    close(in);
    if (!strcmp(mode, "silent") || !strcmp(mode, "spinning")) return unused;
    if (!strcmp(mode, "works")) work_for(2);
    if (!strcmp(mode, "endless")) work_for(600);
    int out = open(core, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!strcmp(mode, "disk")) {
        while (write(out, buffer, sizeof buffer) > 0) {}
        abort();
    }
    if (!strcmp(mode, "copy")) {
        int from = open(given, O_RDONLY);
        long got;
        while ((got = read(from, buffer, sizeof buffer)) > 0)
            if (write(out, buffer, got) != got) abort();
        close(out);
        abort();
    }
    /* An ELF header, one section of 4096 bytes, the section table. */
    memcpy(file, "\x7f" "ELF\x02\x01\x01", 7);
    put(file + 40, 8192, 8);
    put(file + 58, 64, 2);
    put(file + 60, 2, 2);
    put(file + 8192 + 64 + 4, 1, 4);
    put(file + 8192 + 64 + 24, 4096, 8);
    put(file + 8192 + 64 + 32, 4096, 8);
    int whole = !strcmp(mode, "full") || !strcmp(mode, "works") || !strcmp(mode, "stays");
    long size = whole ? 8192 + 128 : 5000;
    if (write(out, file, size) != size) abort();
    if (!strcmp(mode, "cut")) return unused;
    if (!strcmp(mode, "crash")) raise(SIGKILL);
    close(out);
    if (!strcmp(mode, "full") || !strcmp(mode, "works")) abort();
    goto again;
}

/* The host function of the kernel that hangs in a dump of the laboratory, under the name that nvcc gives it. */
__attribute__((section(".nv_fatbin"), used)) static const char device_code[] = "stands for device code";
__attribute__((noinline)) void handoff_bug(void) __asm__("_Z11handoff_bugPKiPiS1_");
__attribute__((noinline)) void handoff_bug(void) { __asm__ volatile(""); }

__attribute__((noinline)) int cudaDeviceSynchronize(void) {
    /* As the runtime does by default. */
    while (!strcmp(mode, "spinning")) {}
    for (;;) pause();
    return 0;
}

int main(int argc, char **argv) {
    pthread_t thread;
    mode = argc > 1 ? argv[1] : "full";
    if (!getenv("CUDA_ENABLE_USER_TRIGGERED_COREDUMP")) return 5;
    /* A child that hangs is dumped as well. */
    given = argc > 2 ? argv[2] : "";
    if (!strcmp(given, "fork") && fork() == 0) mode = "full";
    pthread_create(&thread, 0, dump, 0);
    handoff_bug();
    return cudaDeviceSynchronize() + 1;
}
