/* machine/machine.h - this machine: its parts, its peak performance, its
 * sensors and counters, and its current load.
 *
 * Everything from the kernel is read below a root folder, "" for the real one,
 * so that a test can fake a machine. What the kernel does not say is unknown
 * (0, NaN or ""), never a failure.
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
    bool is_code;   /* only for instructions */
    uint64_t bytes; /* of each */
    int n;          /* how many there are */
};

struct machine_topology {
    char cpu[128]; /* the processor's name */
    int n_cpus;    /* that the system schedules on */
    int n_cores;   /* fewer if cores run several threads */
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

/* The total size of the caches of a level that this many threads use, without
 * those for instructions; 0: there is no such level. */
uint64_t machine_cache_bytes(const struct machine_topology *topology, int level,
                             int n_threads);
/* The last level, 0 if none is known. */
int machine_last_level(const struct machine_topology *topology);

/* ---- sensors.c: its current state ---------------------------------------- */

struct machine_state {
    double mhz, max_mhz; /* mean of all processors; their maximum */
    char governor[32];   /* decides on the frequency */
    double throttled;    /* how often a core was slowed down for its heat */
    double load;         /* runnable threads, mean over a minute */
    double pressure;     /* share of the last 10 s in which any waited */
    double memory_bytes, available_bytes;
};

void machine_state(const char *root, struct machine_state *out);

/* Processor time since the system started: the difference of two readings shows
 * how busy the processors were. */
struct machine_ticks {
    uint64_t busy, all;
    uint64_t stolen; /* of busy: taken by other guests of the same host */
};

bool machine_ticks(const char *root, struct machine_ticks *out);

/* ---- offers.c: hardware counters, energy ------------------------------ */

/* Whether something can be measured, and if not, why. */
struct machine_offer {
    bool is_there;
    char way[160]; /* how to get it; "" if it is there */
};

struct machine_offers {
    struct machine_offer counters; /* of the processor: perf_event_open */
    struct machine_offer energy;   /* RAPL */
    struct machine_offer frequency;
    struct machine_offer throttling;
};

/* Tries to open a counter: 0, or errno. */
typedef int machine_open_counter(void);
machine_open_counter machine_try_counter;

void machine_offers(const char *root, machine_open_counter *open_counter,
                    struct machine_offers *out);

/* Appends one line: what is missing, and how to get it; nothing if everything
 * is there. */
enum assay_status machine_missing(const struct machine_offers *offers,
                                  struct str *line);

/* ---- probe.c: measuring ----------------------------------------------- */

/* Something that can be repeated. */
struct probe_task {
    enum assay_status (*run)(void *context, struct error *err);
    void *context;
    double work;    /* per repetition: FLOP, bytes or calls */
    double seconds; /* time limit, after the first repetition */
};

/* The best rate in work per nanosecond (1e9 per second) that the task reaches.
 * Runs it once to warm up, then at least once more, until its time or the
 * deadline is over. */
enum assay_status probe_rate(const struct probe_task *task,
                             const struct clock *clock, int64_t deadline_ns,
                             double *rate, struct error *err);

struct machine_probe {
    const struct device *device; /* whose kernels are measured */
    int n_threads;
    double seconds; /* total, approximate limit */
    const struct machine_topology *topology;
    double available_bytes; /* of memory; NaN: unknown */
    size_t memory_bytes;    /* to use; 0: enough to exceed the caches */
    struct clock clock;
};

/* Measures convolutions and matrix products with the backend; reading, writing
 * and copying memory beyond the last cache, reading from each cache above the
 * first; starting a kernel. What there is not enough memory for stays NaN. */
enum assay_status machine_probe(const struct machine_probe *probe,
                                struct peaks *peaks, struct error *err);

/* ---- known_peaks.c: earlier measurements ------------------------------ */

/* Its name in the cache folder. */
#define MACHINE_PEAKS_FILE "machine.txt"

/* If others took more of the processors than this, peaks may be too low. */
#define MACHINE_BUSY 0.1

/* Peaks and how they were measured. */
struct known_peaks {
    struct peaks peaks;
    double busy;   /* share of processor time that others took meanwhile */
    char when[32]; /* 2026-11-15T12:00:00Z */
};

/* "Intel(R) Xeon(R) Processor, AVX-512, 2 processors, 2 threads, oneDNN 2.6.3",
 * after the device's name if it has its own memory: peaks measured on one
 * device or under one limit of ASSAY_CPU are not used for another. */
void machine_key(const struct machine_topology *topology, int n_threads,
                 const struct device *device, char *key, size_t size);

/* All NaN. */
void known_peaks_forget(struct known_peaks *known);

/* False if the file is missing, damaged, or has no such key; *out is then all
 * NaN. */
bool known_peaks_find(const char *path, const char *key,
                      struct known_peaks *out);
/* Keeps the better value of each. */
void known_peaks_join(struct known_peaks *into, const struct known_peaks *from);
/* Writes it to the file, keeping the entries of other keys. */
enum assay_status known_peaks_put(const char *path, const char *key,
                                  const struct known_peaks *known,
                                  struct error *err);

/* ---- machine.c: everything -------------------------------------------- */

struct machine {
    struct machine_topology topology;
    struct machine_state state;
    struct machine_offers offers;
    struct known_peaks known; /* NaN if not measured */
    int n_threads;
    bool is_cached; /* the peaks were measured before */
};

enum machine_measuring {
    MACHINE_CACHED, /* only what was measured before */
    MACHINE_NEEDED, /* measures if that was not done before */
    MACHINE_AGAIN   /* always measures; keeps the better values if the machine
                       was too busy to trust the new ones */
};

struct machine_options {
    const char *root;
    const struct device *device;
    enum precision precision; /* of a GPU */
    int n_threads;
    enum machine_measuring measuring;
    double seconds;   /* for the measuring; 0: 1.8 */
    const char *path; /* file with known peaks; NULL: none */
};

/* Measures in a child process, so that its memory does not count as this one's.
 * Call it while there is only one thread. */
enum assay_status machine_look(const struct machine_options *options,
                               struct machine *out, struct error *err);

/* Keeps the peaks of a device with its own memory, which were measured outside
 * of machine_look(), for each precision; not while others use it. */
void machine_keep_device(const struct machine_options *options,
                         const struct device_peaks *best);

/* Sets the facts of a run: those that run/bound.h reads, and
 * "machine.topology", "machine.caches", "machine.missing" and others for
 * people. */
enum assay_status machine_set_facts(const struct machine *machine,
                                    struct run *run, struct error *err);

#endif
