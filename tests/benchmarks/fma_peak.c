/* Float32 multiply-add rate of all threads together, in GFLOP/s: measured once for each line read.
   cc -O3 -march=native -pthread fma_peak.c -o fma_peak && echo | ./fma_peak THREADS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX2__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
/* Twelve independent chains hide the latency of the multiply-add on two ports. */
#define CHAINS 12
#define STEPS 2000000L /* about 20 ms */

typedef float vec __attribute__((vector_size(WIDTH * 4)));

static pthread_barrier_t start;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *run(void *result) {
  vec x, y;
  for (int k = 0; k < WIDTH; k++) x[k] = 0.9999999f, y[k] = 1e-7f;
  /* Variables, because an array would live in memory; different ones, because equal chains would
     be computed once. */
  vec a = y, b = 2 * y, c = 3 * y, d = 4 * y, e = 5 * y, f = 6 * y;
  vec g = 7 * y, h = 8 * y, i = 9 * y, j = 10 * y, k = 11 * y, l = 12 * y;
  pthread_barrier_wait(&start);
  const double t0 = now();
  for (long s = 0; s < STEPS; s++) {
    a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y;
    e = e * x + y, f = f * x + y, g = g * x + y, h = h * x + y;
    i = i * x + y, j = j * x + y, k = k * x + y, l = l * x + y;
#if defined(__x86_64__)
    __asm__ volatile("" : "+v"(x)); /* or the loop would be worked out beforehand */
#else
    __asm__ volatile("" : "+w"(x));
#endif
  }
  const double seconds = now() - t0;
  a += b + c + d + e + f + g + h + i + j + k + l;
  *(double *)result = a[0] == 12345.0f ? 0 : 2.0 * WIDTH * CHAINS * STEPS / seconds * 1e-9;
  return NULL;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  pthread_t id[256];
  double rate[256];
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    pthread_barrier_init(&start, NULL, threads);
    for (int i = 0; i < threads; i++) pthread_create(&id[i], NULL, run, &rate[i]);
    double sum = 0;
    for (int i = 0; i < threads; i++) pthread_join(id[i], NULL), sum += rate[i];
    pthread_barrier_destroy(&start);
    printf("%.1f\n", sum);
    fflush(stdout);
  }
  return 0;
}
