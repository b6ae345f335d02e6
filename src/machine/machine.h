/* machine/machine.h - this machine: what it is made of, what it can do at best,
 * what it offers to be measured with, what else is going on.
 *
 * Everything that is read from the kernel is read below a root folder, "" for
 * the real one, so that a test can make up a machine. What the kernel does not
 * tell is unknown (0, NaN or ""), never a failure.
 *
 * Stands on backend and run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "backend/backend.h"
#include "base/clock.h"
#include "run/bound.h"

/* ---- topology.c: processors and caches ----------------------------------- */

enum { MACHINE_MAX_CACHES = 8 };

struct machine_cache {
    int level;
    bool is_code;   /* for instructions only */
    uint64_t bytes; /* of one */
    int n;          /* how many there are */
};

struct machine_topology {
    char cpu[128]; /* the processor's name */
    int n_cpus;    /* that the system schedules on */
    int n_cores;   /* less where cores run several threads */
    int n_sockets, n_nodes;
    struct machine_cache caches[MACHINE_MAX_CACHES]; /* by level */
    size_t n_caches;
};

void machine_topology(const char *root, struct machine_topology *out);

/* "1 socket, 2 cores, 4 threads, 1 memory node" */
void machine_topology_text(const struct machine_topology *topology, char *text,
                           size_t size);
/* "L1d 48 KiB x2, L1i 32 KiB x2, L2 2 MiB x2, L3 260 MiB" */
void machine_caches_text(const struct machine_topology *topology, char *text,
                         size_t size);

/* What the caches of a level hold for so many threads together, without those
 * for instructions; 0: there is no such level. */
uint64_t machine_cache_bytes(const struct machine_topology *topology, int level,
                             int n_threads);
/* The last level, 0 where none is known. */
int machine_last_level(const struct machine_topology *topology);

/* ---- sensors.c: how it is doing now -------------------------------------- */

struct machine_state {
    double mhz, max_mhz; /* of all processors, mean; the most they may */
    char governor[32];   /* who decides on the frequency */
    double throttled;    /* times a core was slowed down for its heat */
    double load;         /* threads that wanted to run, mean of a minute */
    double pressure;     /* share of the last 10 s in which some waited */
    double memory_bytes, available_bytes;
};

void machine_state(const char *root, struct machine_state *out);

/* Time that the processors have spent since the start of the system: the
 * difference of two readings tells how busy they were. */
struct machine_ticks {
    uint64_t busy, all;
    uint64_t stolen; /* of those busy: by other guests of the same host */
};

bool machine_ticks(const char *root, struct machine_ticks *out);

/* ---- offers.c: hardware counters, energy ----------------------------------
 */

/* Something that can be measured with, or why not. */
struct machine_offer {
    bool is_there;
    char way[160]; /* how it could be had; "" where it is there */
};

struct machine_offers {
    struct machine_offer counters; /* of the processor: perf_event_open */
    struct machine_offer energy;   /* RAPL */
    struct machine_offer frequency;
    struct machine_offer throttling;
};

/* Tries to open a counter: 0, or why not (errno). */
typedef int machine_open_counter(void);
machine_open_counter machine_try_counter;

void machine_offers(const char *root, machine_open_counter *open_counter,
                    struct machine_offers *out);

/* Appends one line: what is not there, and how it could be; nothing where all
 * is. */
enum assay_status machine_missing(const struct machine_offers *offers,
                                  struct str *line);

/* ---- probe.c: measuring ----------------------------------------------------
 */

/* Something that can be done again and again. */
struct probe_task {
    enum assay_status (*run)(void *context, struct error *err);
    void *context;
    double work;    /* of one time: FLOP, bytes or calls */
    double seconds; /* to spend on it at most, after the first time */
};

/* The best rate in work a nanosecond (1e9 a second) that the task reaches: once
 * to warm up, then at least once more, until its time or the deadline is over.
 */
enum assay_status probe_rate(const struct probe_task *task,
                             const struct clock *clock, int64_t deadline_ns,
                             double *rate, struct error *err);

struct machine_probe {
    const struct backend_class *backend; /* whose kernels are measured */
    int n_threads;
    double seconds; /* in all, at most about */
    const struct machine_topology *topology;
    double available_bytes; /* of memory; NaN: unknown */
    size_t memory_bytes;    /* to go through; 0: enough for the caches */
    struct clock clock;
};

/* Convolution and matrix product through the backend; reading, writing and
 * copying memory beyond the last cache, reading from each cache above the
 * first; starting a kernel. What the memory does not suffice for stays NaN. */
enum assay_status machine_probe(const struct machine_probe *probe,
                                struct peaks *peaks, struct error *err);

/* ---- known_peaks.c: what was measured before -------------------------------
 */

/* Its name in the cache folder. */
#define MACHINE_PEAKS_FILE "machine.txt"

/* Where others took more of the processors, peaks may be too low. */
#define MACHINE_BUSY 0.1

/* Peaks with what they hold for. */
struct known_peaks {
    struct peaks peaks;
    double busy; /* share of the processors' time that others took meanwhile */
    char when[32]; /* 2026-11-15T12:00:00Z */
};

/* "Intel(R) Xeon(R) Processor, AVX-512, 2 processors, 2 threads, oneDNN 2.6.3":
 * nothing measured under one limit of ASSAY_CPU is used under another. */
void machine_key(const struct machine_topology *topology, int n_threads,
                 const struct backend_class *backend, char *key, size_t size);

/* All NaN. */
void known_peaks_forget(struct known_peaks *known);

/* False where the file is not there, damaged, or has no such key; *out is
 * forgotten then. */
bool known_peaks_find(const char *path, const char *key,
                      struct known_peaks *out);
/* The better of each. */
void known_peaks_join(struct known_peaks *into, const struct known_peaks *from);
/* Puts it into the file, beside the other keys' that are there. */
enum assay_status known_peaks_put(const char *path, const char *key,
                                  const struct known_peaks *known,
                                  struct error *err);

/* ---- machine.c: all of it together -----------------------------------------
 */

struct machine {
    struct machine_topology topology;
    struct machine_state state;
    struct machine_offers offers;
    struct known_peaks known; /* NaN where nothing was measured */
    int n_threads;
    bool is_cached; /* the peaks were measured before */
};

enum machine_measuring {
    MACHINE_CACHED, /* only what was measured before */
    MACHINE_NEEDED, /* measures what was not */
    MACHINE_AGAIN   /* and what was; the better ones stay where the machine was
                       too busy to trust the new ones */
};

struct machine_options {
    const char *root;
    const struct backend_class *backend;
    int n_threads;
    enum machine_measuring measuring;
    double seconds;   /* for the measuring; 0: 1.8 */
    const char *path; /* where peaks are remembered; NULL: nowhere */
};

/* Measures in a process of its own, so that its memory is not part of this
 * one's: to be called while there is only one thread. */
enum assay_status machine_look(const struct machine_options *options,
                               struct machine *out, struct error *err);

/* Puts what is known into the facts of a run: those that run/bound.h reads,
 * and "machine.topology", "machine.caches", "machine.missing" and others for
 * people. */
enum assay_status machine_set_facts(const struct machine *machine,
                                    struct run *run, struct error *err);

#endif
