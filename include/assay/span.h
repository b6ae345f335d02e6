/* assay/span.h - recording what your own program does.
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
 * stores; it never takes a lock. While nothing is recorded a call is one load
 * and one branch. Compiled with -DASSAY_OFF every call here vanishes.
 *
 * Every function may be called from any thread at any time; spans nest within
 * their thread. A thread that records faster than its buffer is emptied waits
 * for that, for ten seconds at most; what does not find a place then is counted
 * as lost, in every run.
 *
 * A child that is forked while something is recorded does not record: there
 * assay_is_recording() is 0, every call returns at once, and assay_start() is
 * ASSAY_UNSUPPORTED. The parent goes on as if nothing had happened. A program
 * that the child starts with exec(3) may record.
 *
 * All but assay_start(), assay_stop() and assay_fact() may be called in a
 * signal handler, whatever the signal has interrupted: malloc(3), or one of
 * these functions. They take no lock and nothing from malloc(3), and leave
 * errno as it was. What a handler begins it ends before it returns, and it
 * returns: it does not longjmp(3) out. Nothing is lost by that but, counted as
 * such,
 * - what a handler tells while it has interrupted its thread's first call of a
 *   recording,
 * - more than 64 spans, phases and values of handlers that have interrupted one
 *   call.
 * An iteration that a handler marks while one is under way, or about to begin
 * or end, is refused and counted as unbalanced. A thread's first call of all
 * may be in a handler if the program made no more than 31 keys of
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
    const char *program;    /* names the root of the tree; NULL: "run" */
    const char *class_name; /* its class; NULL: none */
    unsigned keep_first;    /* so many iterations behind the warm-up are kept
                               in full and no others; 0: a few are chosen */
};

#ifndef ASSAY_OFF

/* Starts to record into path. Until assay_stop() the file has a name of this
 * process's own beside it, `path.PID-LETTERS.part`, so that several programs
 * may record into one path at once. options may be NULL. One recording at a
 * time: ASSAY_BAD_USAGE where one is under way. A program that exits without
 * assay_stop() is stopped for at its exit(). */
ASSAY_API enum assay_status assay_start(const char *path,
                                        const struct assay_options *options,
                                        struct assay_error *error);

/* Ends the recording and puts the run file in place, whole: ASSAY_OK says that
 * it was there. Of several programs the last to end replaces the others' files.
 * ASSAY_OK where nothing was being recorded, too. */
ASSAY_API enum assay_status assay_stop(struct assay_error *error);

/* Not for use: what the inline functions below stand on. */
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

/* Opens a span inside the one that is open on this thread. Spans with the same
 * place in the tree, name and class are one scope. The texts are copied when
 * first seen; class_name ("Conv2d") may be NULL. */
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

/* Closes the innermost open span of this thread. One too many is counted and
 * reported with the run, and does no harm. */
static inline void assay_end(void)
{
    if (assay_is_recording())
        assay_end_();
}

/* Marks an iteration, for the whole program: what ends on any thread while it
 * lasts belongs to it. The thread that begins it also ends it, with the same
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

/* A value at this moment: a queue's length, a temperature. unit may be NULL. */
static inline void assay_counter(const char *name, const char *unit,
                                 double value)
{
    if (assay_is_recording())
        assay_counter_(name, unit, value);
}

/* Memory taken (positive) or given back (negative) by this thread, which the
 * open spans are charged with. */
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

/* ASSAY_SPAN("name"); opens a span that closes where the block is left, by
 * whatever way. In C with gcc or clang, and in C++. */
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
