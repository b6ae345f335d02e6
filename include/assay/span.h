/* assay/span.h - records what your own program does.
 *
 *     #include <assay.h>
 *
 *     int main(void)
 *     {
 *         assay_start("run.assay", NULL, NULL);
 *         for (int i = 0; i < 100; i++) {
 *             assay_iteration_begin();
 *             assay_begin("decode");
 *             ...
 *             assay_end();
 *             assay_iteration_end();
 *         }
 *         assay_stop(NULL);
 *     }
 *
 * and then `assay show run.assay`. Link with `pkg-config --libs assay`.
 *
 * A span costs two readings of the processor's time stamp counter and a few
 * stores; it never takes a lock. While nothing is being recorded, a call is one
 * load and one branch. Compiled with -DASSAY_OFF every call here vanishes.
 *
 * Every function may be called from any thread at any time; spans nest within
 * their thread. A thread that records faster than its buffer is emptied waits,
 * for at most ten seconds; what finds no room then is counted as lost, and
 * every run reports that count.
 *
 * A child process forked during a recording does not record: there
 * assay_is_recording() is 0, every call returns at once, and assay_start()
 * returns ASSAY_UNSUPPORTED. The parent goes on as if nothing had happened. A
 * program that the child starts with exec(3) may record.
 *
 * All but assay_start(), assay_stop() and assay_fact() may be called in a
 * signal handler, whatever the signal interrupted: malloc(3), or one of these
 * functions. They take no lock, do not call malloc(3) and preserve errno. A
 * handler must end what it begins, and must return rather than longjmp(3) out.
 * Only this is lost then, and counted as lost:
 * - what a handler records while it interrupts its thread's first call of a
 *   recording,
 * - more than 64 spans, phases and values of handlers that interrupt one call.
 * An iteration that a handler marks while another is under way, or is about to
 * begin or end, is refused and counted as unbalanced. A thread's very first
 * call may be in a handler if the program made at most 31 keys of
 * thread-specific data (pthread_key_create(3)) before its first assay_start().
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_SPAN_H
#define ASSAY_SPAN_H

#include <assay/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_options {
    unsigned warm_up;       /* iterations at the beginning that do not count */
    int keep_all;           /* not 0: keep every sample, however many */
    const char *program;    /* name of the tree's root; NULL: "run" */
    const char *class_name; /* the root's class; NULL: none */
    unsigned keep_first;    /* keep this many iterations after the warm-up in
                               full, and no others; 0: choose a few */
};

#ifndef ASSAY_OFF

/* Starts recording into path. Until assay_stop() the file has a name next to
 * it that only this process uses, `path.PID-LETTERS.part`, so several programs
 * may record into one path at once. options may be NULL. One recording at a
 * time: ASSAY_BAD_USAGE if one is under way. If the program calls exit()
 * without assay_stop(), the recording is stopped then. */
ASSAY_API enum assay_status assay_start(const char *path,
                                        const struct assay_options *options,
                                        struct assay_error *error);

/* Ends the recording and puts the complete run file in place: after ASSAY_OK
 * it is there. If several programs record into one path, the last to end
 * replaces the others' files. ASSAY_OK too if nothing was being recorded. */
ASSAY_API enum assay_status assay_stop(struct assay_error *error);

/* Private: called by the inline functions below. */
ASSAY_API extern int assay_is_recording_;
ASSAY_API void assay_begin_(const char *name, const char *class_name);
ASSAY_API void assay_end_(void);
ASSAY_API void assay_iteration_(int begins);
ASSAY_API void assay_phase_(const char *name);
ASSAY_API void assay_counter_(const char *name, const char *unit, double value);
ASSAY_API void assay_bytes_(int64_t delta);
ASSAY_API void assay_thread_(const char *name);
ASSAY_API void assay_fact_(const char *key, const char *value);

static inline int assay_is_recording(void)
{
    return __atomic_load_n(&assay_is_recording_, __ATOMIC_RELAXED);
}

/* Opens a span inside the innermost open one of this thread. Spans with the
 * same place in the tree, name and class are one scope. The texts are copied
 * when first seen; class_name ("Conv2d") may be NULL. */
static inline void assay_begin_class(const char *name, const char *class_name)
{
    if (assay_is_recording())
        assay_begin_(name, class_name);
}

static inline void assay_begin(const char *name)
{
    if (assay_is_recording())
        assay_begin_(name, NULL);
}

/* Closes the innermost open span of this thread. An end without a begin is
 * harmless; the run reports how many there were. */
static inline void assay_end(void)
{
    if (assay_is_recording())
        assay_end_();
}

/* Marks an iteration of the whole program: whatever ends on any thread during
 * it belongs to it. The thread that begins it must also end it, with the same
 * spans open. */
static inline void assay_iteration_begin(void)
{
    if (assay_is_recording())
        assay_iteration_(1);
}

static inline void assay_iteration_end(void)
{
    if (assay_is_recording())
        assay_iteration_(0);
}

/* Phases of this thread ("forward", "backward"), nested up to 8 deep. */
static inline void assay_phase_begin(const char *name)
{
    if (assay_is_recording())
        assay_phase_(name);
}

static inline void assay_phase_end(void)
{
    if (assay_is_recording())
        assay_phase_(NULL);
}

/* The current value of something: a queue's length, a temperature. unit may be
 * NULL. */
static inline void assay_counter(const char *name, const char *unit,
                                 double value)
{
    if (assay_is_recording())
        assay_counter_(name, unit, value);
}

/* Memory taken (positive) or given back (negative) by this thread; charged to
 * its open spans. */
static inline void assay_bytes(int64_t delta)
{
    if (assay_is_recording())
        assay_bytes_(delta);
}

/* Names the calling thread. */
static inline void assay_thread(const char *name)
{
    if (assay_is_recording())
        assay_thread_(name);
}

/* A fact about the run: assay_fact("settings.batch", "8"). */
static inline void assay_fact(const char *key, const char *value)
{
    if (assay_is_recording())
        assay_fact_(key, value);
}

#else

static inline enum assay_status assay_start(const char *path,
                                            const struct assay_options *options,
                                            struct assay_error *error)
{
    (void)path, (void)options, (void)error;
    return ASSAY_OK;
}

static inline enum assay_status assay_stop(struct assay_error *error)
{
    (void)error;
    return ASSAY_OK;
}

static inline int assay_is_recording(void)
{
    return 0;
}

static inline void assay_begin(const char *name)
{
    (void)name;
}

static inline void assay_begin_class(const char *name, const char *class_name)
{
    (void)name, (void)class_name;
}

static inline void assay_end(void)
{
}

static inline void assay_iteration_begin(void)
{
}

static inline void assay_iteration_end(void)
{
}

static inline void assay_phase_begin(const char *name)
{
    (void)name;
}

static inline void assay_phase_end(void)
{
}

static inline void assay_counter(const char *name, const char *unit,
                                 double value)
{
    (void)name, (void)unit, (void)value;
}

static inline void assay_bytes(int64_t delta)
{
    (void)delta;
}

static inline void assay_thread(const char *name)
{
    (void)name;
}

static inline void assay_fact(const char *key, const char *value)
{
    (void)key, (void)value;
}

#endif /* ASSAY_OFF */

#ifdef __cplusplus
}
#endif

/* ASSAY_SPAN("name"); opens a span that closes when the block is left, however
 * that happens. In C with gcc or clang, and in C++. */
#define ASSAY_JOIN_(a, b) a##b
#define ASSAY_JOIN(a, b)  ASSAY_JOIN_(a, b)
#if defined(__cplusplus)
struct assay_scoped_ {
    explicit assay_scoped_(const char *name)
    {
        assay_begin(name);
    }
    ~assay_scoped_()
    {
        assay_end();
    }
    assay_scoped_(const assay_scoped_ &) = delete;
    assay_scoped_ &operator=(const assay_scoped_ &) = delete;
};
#define ASSAY_SPAN(name)                                                       \
    const assay_scoped_ ASSAY_JOIN(assay_span_, __LINE__)                      \
    {                                                                          \
        name                                                                   \
    }
#else
static inline int assay_open_scoped_(const char *name)
{
    assay_begin(name);
    return 0;
}
static inline void assay_close_scoped_(const int *unused)
{
    (void)unused;
    assay_end();
}
#define ASSAY_SPAN(name)                                                       \
    __attribute__((cleanup(assay_close_scoped_), unused)) const int            \
    ASSAY_JOIN(assay_span_, __LINE__) = assay_open_scoped_(name)
#endif

#endif
