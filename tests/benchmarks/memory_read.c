/* How fast memory is read: memory_read THREADS. Answers each line with the rate in GB/s of reading
   512 MiB on THREADS threads; see fma_peak.c for the protocol. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES (512UL << 20)
#define MOST_THREADS 64

typedef struct {
    const uint64_t *from;
    size_t count;
    uint64_t sum;
} Part;

static void *read_part(void *argument) {
    Part *part = argument;
    uint64_t sums[8] = {0};
    for (size_t i = 0; i + 8 <= part->count; i += 8)
        for (int k = 0; k < 8; ++k) sums[k] += part->from[i + k];
    for (int k = 0; k < 8; ++k) part->sum += sums[k];
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    if (threads < 1 || threads > MOST_THREADS) return 2;
    uint64_t *memory = malloc(BYTES);
    if (!memory) return 1;
    memset(memory, 1, BYTES);
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        Part parts[MOST_THREADS];
        pthread_t started[MOST_THREADS];
        size_t each = BYTES / sizeof *memory / threads;
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        for (int i = 0; i < threads; ++i) {
            parts[i] = (Part){memory + i * each, each, 0};
            pthread_create(&started[i], NULL, read_part, &parts[i]);
        }
        uint64_t sum = 0;
        for (int i = 0; i < threads; ++i) {
            pthread_join(started[i], NULL);
            sum += parts[i].sum;
        }
        clock_gettime(CLOCK_MONOTONIC, &after);
        double seconds = (after.tv_sec - before.tv_sec) + (after.tv_nsec - before.tv_nsec) * 1e-9;
        if (sum == 1) return 3; /* never; the sum is used, so that it is computed */
        printf("%f\n", BYTES / seconds * 1e-9);
        fflush(stdout);
    }
    puts("0");
    return 0;
}
