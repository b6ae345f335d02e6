/* kernel_times.c - what a GPU did for a module, by CUPTI's records of kernels
 * and copies; see extension_internal.h.
 *
 * In an iteration that is timed, CUPTI calls us for each call that launches
 * something: we note its number, its correlation, with the scope that the
 * thread is in. What the device ran has the same number. A thread of ours
 * collects the records and reports a span for each: the program waits for
 * nothing, and gaps between kernels are nobody's time. What was launched before
 * the records were switched off is recorded when it runs. */
#include "extension_internal.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call. Written by the thread that makes it, without a lock: the correlation
 * last, and 0 while the rest changes. */
struct note {
    uint32_t correlation; /* 0: none */
    assay_scope_t scope;
    int64_t launched_ns;
};

struct ran {
    struct kernel_ran record;
    int64_t begin_ns, end_ns;
};

struct ran_list {
    struct ran *items;
    size_t n, capacity;
};

/* Some iterations that are timed, one after the other. Correlations grow: those
 * of the calls made then are the ones from the first to the last. */
struct window {
    uint32_t first, last; /* 0: none is known */
};

enum {
    N_NOTES = 1 << 15, /* the last ones */
    MOST_RAN = 1 << 17,
    MOST_LANES = 64,
    MOST_SPARE = 64,
    N_WINDOWS = 16,
    BUFFER_BYTES = 1 << 15, /* it comes when all in it have run: not too many */
};

/* Records come on any thread: all but notes and windows is under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct note *notes; /* by correlation, a ring */
    struct ran_list ran;
    struct window windows[N_WINDOWS];
    uint32_t window; /* the last one */
    uint64_t n_called, n_ran;
    uint64_t n_lost;
    int64_t ahead_ns; /* how far CUPTI's clock is ahead */
    uint8_t *spare[MOST_SPARE];
    int n_spare;
    bool is_closing;
} book;

static struct {
    bool is_open, is_noting;
    bool has_all;          /* kernels by their names */
    assay_scope_t outside; /* of what was launched in no scope */
    int (*synchronise)(void);
    int (*context_set)(void *context);
    void *context;
    pthread_t reader;
    char text[96];
} kernels;

/* Of this thread: what it launches is for this scope; ROOT: for none. */
static __thread assay_scope_t scope_here;
static __thread unsigned n_inside;

/* ---- notes ----------------------------------------------------------------
 */

static uint32_t note_load(const uint32_t *number)
{
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static void note_store(uint32_t *number, uint32_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELEASE);
}

/* Whether a call that nobody noted was made in a timed iteration. */
static bool window_has(uint32_t correlation)
{
    for (int i = 0; i < N_WINDOWS; i++) {
        uint32_t first = note_load(&book.windows[i].first);

        if (first && correlation >= first &&
            correlation <= note_load(&book.windows[i].last))
            return true;
    }
    return false;
}

/* Two threads may overwrite each other's bound: it is then off by a few calls,
 * all of which have notes. */
static void window_add(uint32_t correlation)
{
    struct window *window = &book.windows[note_load(&book.window) % N_WINDOWS];
    uint32_t first = note_load(&window->first);

    if (first == 0 || correlation < first)
        note_store(&window->first, correlation);
    if (correlation > note_load(&window->last))
        note_store(&window->last, correlation);
}

void kernels_called(uint32_t correlation)
{
    struct note *note = &book.notes[correlation % N_NOTES];

    /* Acquiring, so that what follows is not seen before it. */
    __atomic_exchange_n(&note->correlation, 0, __ATOMIC_ACQ_REL);
    note_store(&note->scope, scope_here);
    __atomic_store_n(&note->launched_ns, assay_clock_ns(), __ATOMIC_RELAXED);
    note_store(&note->correlation, correlation);
    window_add(correlation);
    __atomic_fetch_add(&book.n_called, 1, __ATOMIC_RELAXED);
}

static bool ran_add(struct ran_list *list, const struct ran *ran)
{
    size_t capacity = list->capacity ? list->capacity * 2 : 1024;
    struct ran *grown;

    if (list->n == list->capacity) {
        grown = list->n < MOST_RAN
                    ? realloc(list->items, capacity * sizeof *grown)
                    : NULL;
        if (!grown)
            return false;
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->n++] = *ran;
    return true;
}

void kernels_ran(const struct kernel_ran *record)
{
    const struct ran ran = {.record = *record,
                            .begin_ns = (int64_t)record->start - book.ahead_ns,
                            .end_ns = (int64_t)record->end - book.ahead_ns};

    if (record->start && record->end >= record->start &&
        !ran_add(&book.ran, &ran))
        book.n_lost++;
    book.n_ran++;
}

/* ---- buffers --------------------------------------------------------------
 */

static void kernels_give_buffer(uint8_t **buffer, size_t *size,
                                size_t *most_records)
{
    *buffer = NULL;
    *most_records = 0;
    pthread_mutex_lock(&lock);
    if (book.n_spare)
        *buffer = book.spare[--book.n_spare];
    pthread_mutex_unlock(&lock);
    if (!*buffer)
        *buffer = malloc(BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
}

static void kernels_take_buffer(void *context, uint32_t stream, uint8_t *buffer,
                                size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    if (!buffer)
        return;
    pthread_mutex_lock(&lock);
    if (kernels.is_open)
        cupti_read(buffer, valid);
    if (book.n_spare < MOST_SPARE) {
        book.spare[book.n_spare++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(buffer);
}

/* ---- the thread that reports ----------------------------------------------
 */

static assay_lane_t kernels_lane(const struct kernel_ran *record)
{
    static const char *const ends[] = {"", " copy in", " copy out"};
    static struct {
        uint32_t device, stream;
        enum kernel_work work;
        assay_lane_t lane;
    } lanes[MOST_LANES];
    static int n_lanes;
    assay_lane_t lane;
    char name[80];

    for (int i = 0; i < n_lanes; i++) {
        if (lanes[i].device == record->device &&
            lanes[i].stream == record->stream && lanes[i].work == record->work)
            return lanes[i].lane;
    }
    snprintf(name, sizeof name, "cuda:%u stream %u%s", record->device,
             record->stream, ends[record->work]);
    lane = assay_lane_open(name, ASSAY_LANE_DEVICE);
    if (n_lanes < MOST_LANES) {
        lanes[n_lanes].device = record->device;
        lanes[n_lanes].stream = record->stream;
        lanes[n_lanes].work = record->work;
        lanes[n_lanes++].lane = lane;
    }
    return lane;
}

/* What is known of the launch. False: it was made in no timed iteration. */
static bool kernels_look(const struct kernel_ran *record, struct note *out)
{
    const struct note *note = &book.notes[record->correlation % N_NOTES];

    out->correlation = note_load(&note->correlation);
    out->scope = note_load(&note->scope);
    out->launched_ns = __atomic_load_n(&note->launched_ns, __ATOMIC_ACQUIRE);
    if (out->correlation == record->correlation &&
        note_load(&note->correlation) == record->correlation)
        return true;
    *out = (struct note){.scope = ASSAY_SCOPE_ROOT};
    return window_has(record->correlation); /* by a call that we do not know */
}

static void kernels_report(const struct ran *ran)
{
    struct assay_span_details details = {0};
    assay_scope_t scope;
    struct note note;

    if (!kernels_look(&ran->record, &note))
        return;
    details.launched_ns = note.launched_ns;
    scope = note.scope == ASSAY_SCOPE_ROOT ? kernels.outside : note.scope;
    if (kernels.has_all)
        scope = kernel_scope(scope, ran->record.name);
    assay_span_at(kernels_lane(&ran->record), scope, ran->begin_ns, ran->end_ns,
                  &details);
}

static int ran_compare(const void *left, const void *right)
{
    const struct ran *a = left, *b = right;

    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Reports what came since the last time, in the order it began in. The list is
 * the reader's own, empty before and after. */
static void kernels_settle(struct ran_list *list)
{
    int64_t ahead_ns = cupti_ahead_ns();
    struct ran_list taken;

    pthread_mutex_lock(&lock);
    if (ahead_ns)
        book.ahead_ns = ahead_ns;
    taken = book.ran;
    book.ran = *list;
    pthread_mutex_unlock(&lock);
    if (taken.n)
        qsort(taken.items, taken.n, sizeof *taken.items, ran_compare);
    for (size_t i = 0; i < taken.n; i++)
        kernels_report(&taken.items[i]);
    taken.n = 0;
    *list = taken;
}

/* Whether records may have been made since the last time. Asking for them takes
 * locks that the program needs to launch kernels. */
static bool kernels_are_awaited(void)
{
    enum { most_silent = 50 }; /* the device may be late */
    static uint64_t n_before;
    static unsigned n_silent;
    uint64_t n;

    pthread_mutex_lock(&lock);
    n = book.n_ran + __atomic_load_n(&book.n_called, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    n_silent = n == n_before ? n_silent + 1 : 0;
    n_before = n;
    return n_silent < most_silent;
}

static bool kernels_are_closing(void)
{
    bool is;

    pthread_mutex_lock(&lock);
    is = book.is_closing;
    pthread_mutex_unlock(&lock);
    return is;
}

static void *kernels_read(void *unused)
{
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct ran_list list = {0};

    (void)unused;
    if (kernels.context_set(kernels.context))
        return NULL;
    while (!kernels_are_closing()) {
        nanosleep(&pause, NULL);
        if (!kernels_are_awaited())
            continue;
        cupti_flush(false);
        kernels_settle(&list);
    }
    /* After the program's last iteration the device may still work for it. */
    (void)kernels.synchronise();
    cupti_flush(true);
    kernels_settle(&list);
    free(list.items);
    return NULL;
}

/* ---- scopes of threads ----------------------------------------------------
 */

assay_scope_t kernels_begin(assay_scope_t scope)
{
    assay_scope_t outer = scope_here;

    scope_here = scope == ASSAY_SCOPE_NONE ? outer : scope;
    n_inside++;
    return outer;
}

void kernels_end(assay_scope_t outer)
{
    scope_here = outer;
    n_inside--;
}

/* A thread of autograd works for one backward pass after another, and launches
 * things between the nodes, too. */
void kernels_base(assay_scope_t scope)
{
    if (n_inside == 0 && scope != ASSAY_SCOPE_NONE)
        scope_here = scope;
}

void kernels_time(bool is_timed)
{
    if (!kernels.is_open || kernels.is_noting == is_timed)
        return;
    if (is_timed) {
        uint32_t next = book.window + 1;

        note_store(&book.windows[next % N_WINDOWS].first, 0);
        note_store(&book.windows[next % N_WINDOWS].last, 0);
        note_store(&book.window, next);
    }
    cupti_record(is_timed);
    kernels.is_noting = is_timed;
}

/* ---- opening and closing --------------------------------------------------
 */

static bool kernels_load_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*context_get)(void **context);

    if (!driver)
        return false;
    *(void **)&context_get = dlsym(driver, "cuCtxGetCurrent");
    *(void **)&kernels.context_set = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&kernels.synchronise = dlsym(driver, "cuCtxSynchronize");
    return context_get && kernels.context_set && kernels.synchronise &&
           context_get(&kernels.context) == 0;
}

/* NULL, or why not. */
static const char *kernels_start(const char *const *files, size_t n_files)
{
    int error;

    if (!cupti_open(files, n_files, kernels.text, sizeof kernels.text))
        return kernels.text;
    if (!kernels_load_driver())
        return "the CUDA driver, libcuda.so.1, cannot be used";
    if (!book.notes)
        book.notes = calloc(N_NOTES, sizeof *book.notes);
    if (!book.notes)
        return "memory ran out";
    memset(book.notes, 0, N_NOTES * sizeof *book.notes);
    memset(book.windows, 0, sizeof book.windows);
    book.is_closing = false;
    book.n_lost = 0;
    book.ahead_ns = cupti_ahead_ns();
    kernels.outside = assay_scope(ASSAY_SCOPE_ROOT, "operations", NULL);
    kernels.is_open = true;
    error = cupti_start(kernels_give_buffer, kernels_take_buffer);
    if (!error && !pthread_create(&kernels.reader, NULL, kernels_read, NULL))
        return NULL;
    kernels.is_open = false;
    cupti_stop();
    if (error == CUPTI_IS_TAKEN)
        return "CUPTI serves another profiler in this process";
    snprintf(kernels.text, sizeof kernels.text,
             "CUPTI does not record here (its error %d)", error);
    return kernels.text;
}

const char *kernels_open(const char *const *files, size_t n_files, bool has_all,
                         const char **timed_by)
{
    const char *problem = kernels_start(files, n_files);

    kernels.has_all = has_all;
    *timed_by = kernels.text;
    return problem;
}

uint64_t kernels_close(void)
{
    if (!kernels.is_open)
        return 0;
    kernels_time(false);
    pthread_mutex_lock(&lock);
    book.is_closing = true;
    pthread_mutex_unlock(&lock);
    Py_BEGIN_ALLOW_THREADS pthread_join(kernels.reader, NULL);
    cupti_stop();
    Py_END_ALLOW_THREADS pthread_mutex_lock(&lock);
    kernels.is_open = false;
    pthread_mutex_unlock(&lock);
    return book.n_lost;
}

void kernels_forget(void)
{
    pthread_mutex_init(&lock, NULL); /* its owner may not be here */
    kernels.is_open = kernels.is_noting = false;
}
