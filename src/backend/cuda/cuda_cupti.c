/* backend/cuda/cuda_cupti.c - see cuda_cupti.h: CUPTI as it is opened, switched
 * on and off, and read. */
#include "backend/cuda/cuda_cupti.h"

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/cuda_libraries.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void cupti_wants_buffer(uint8_t **buffer, size_t *size,
                                size_t *most_records);
typedef void cupti_has_buffer(cu_context context, uint32_t stream,
                              uint8_t *buffer, size_t size, size_t valid);

#define CUPTI_LIST(X)                                                          \
    X(cuptiGetVersion, (uint32_t * version))                                   \
    X(cuptiGetTimestamp, (uint64_t * time))                                    \
    X(cuptiActivityEnable, (int kind))                                         \
    X(cuptiActivityDisable, (int kind))                                        \
    X(cuptiActivityRegisterCallbacks,                                          \
      (cupti_wants_buffer * wants, cupti_has_buffer * has))                    \
    X(cuptiActivityGetNextRecord,                                              \
      (uint8_t * buffer, size_t valid, void **record))                         \
    X(cuptiActivityFlushAll, (uint32_t flag))                                  \
    X(cuptiActivityPushExternalCorrelationId, (int whose, uint64_t id))        \
    X(cuptiActivityPopExternalCorrelationId, (int whose, uint64_t *last))

#define CUPTI_MEMBER(name, parameters) int(*name) parameters;
struct cupti_api {
    CUPTI_LIST(CUPTI_MEMBER)
};
#undef CUPTI_MEMBER
#define CUPTI_NAME(name, parameters) #name,
static const char *const cupti_names[] = {CUPTI_LIST(CUPTI_NAME)};
#undef CUPTI_NAME

/* Without the records of calls none of the tags would come. */
static const int cupti_kinds[] = {CUPTI_KIND_EXTERNAL, CUPTI_KIND_RUNTIME,
                                  CUPTI_KIND_DRIVER,   CUPTI_KIND_MEMCPY,
                                  CUPTI_KIND_MEMSET,   CUPTI_KIND_KERNEL};

enum {
    cupti_n_kinds = sizeof cupti_kinds / sizeof *cupti_kinds,
    /* CUPTI clears a buffer before it writes to it, whole, while an op is
     * being launched. A pass of a detector fills one or two of these. */
    cupti_buffer_bytes = 1 << 16,
    cupti_most_spare = 32,
    cupti_most_silent = 3, /* visits that brought nothing */
};

/* The book, the buffers and what is said of them are under the lock: records
 * come on a thread of the library's own, which also reads whose they are. The
 * rest is of the thread that uses the device. */
static struct {
    pthread_mutex_t lock;
    struct cupti_api api;
    /* Whose work is recorded; NULL: nobody's. */
    _Atomic(struct cuda_device *) device;
    struct cuda_activities book;
    int64_t offset_ns;
    int64_t compared_ns; /* when that was found; 0: never */
    uint8_t *spare[cupti_most_spare];
    size_t n_spare;
    bool is_tried, is_on;
    bool stays_on; /* switching takes too long */
    unsigned n_silent;
    uint32_t version;
    char text[128];
} cupti = {.lock = PTHREAD_MUTEX_INITIALIZER, .text = "CUPTI was not asked"};

static _Thread_local uint32_t cupti_tag_here;

const char *cuda_cupti_text(void)
{
    return cupti.text;
}

bool cuda_cupti_is_used(const struct cuda_device *device)
{
    return cupti.device == device;
}

/* ---- buffers ------------------------------------------------------------- */

static void cupti_give_buffer(uint8_t **buffer, size_t *size,
                              size_t *most_records)
{
    *buffer = NULL;
    *most_records = 0;
    pthread_mutex_lock(&cupti.lock);
    if (cupti.n_spare)
        *buffer = cupti.spare[--cupti.n_spare];
    pthread_mutex_unlock(&cupti.lock);
    if (!*buffer)
        *buffer = mem_alloc(cupti_buffer_bytes);
    *size = *buffer ? cupti_buffer_bytes : 0;
}

static void cupti_read_buffer(cu_context context, uint32_t stream,
                              uint8_t *buffer, size_t size, size_t valid)
{
    const struct cuda_device *device = cupti.device;
    void *record = NULL;

    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&cupti.lock);
    while (buffer && valid && device &&
           cupti.api.cuptiActivityGetNextRecord(buffer, valid, &record) == 0)
        cupti_take(&cupti.book, record, (uint32_t)device->handle,
                   cupti.offset_ns);
    if (buffer && cupti.n_spare < cupti_most_spare) {
        cupti.spare[cupti.n_spare++] = buffer;
        buffer = NULL;
    }
    pthread_mutex_unlock(&cupti.lock);
    mem_free(buffer);
}

/* ---- opening ------------------------------------------------------------- */

/* How far CUPTI's clock is ahead of ours: the reading that was interrupted
 * least. Clocks drift slowly: once in a while is often enough. */
static void cupti_compare_clocks(void)
{
    static const int64_t often_ns = 100000000;
    int64_t best_ns = INT64_MAX, offset_ns = 0, now_ns = clock_monotonic_ns();

    if (cupti.compared_ns && now_ns - cupti.compared_ns < often_ns)
        return;
    cupti.compared_ns = now_ns;
    for (int i = 0; i < 4; i++) {
        int64_t before = clock_monotonic_ns(), after;
        uint64_t time = 0;

        if (cupti.api.cuptiGetTimestamp(&time))
            return;
        after = clock_monotonic_ns();
        if (after - before < best_ns) {
            best_ns = after - before;
            offset_ns = (int64_t)time - (before + best_ns / 2);
        }
    }
    pthread_mutex_lock(&cupti.lock);
    cupti.offset_ns = offset_ns;
    pthread_mutex_unlock(&cupti.lock);
}

static void cupti_disable(size_t n)
{
    while (n--)
        (void)cupti.api.cuptiActivityDisable(cupti_kinds[n]);
    cupti.is_on = false;
}

static bool cupti_enable(void)
{
    for (size_t i = 0; i < cupti_n_kinds; i++) {
        int result = cupti.api.cuptiActivityEnable(cupti_kinds[i]);

        if (!result)
            continue;
        cupti_disable(i);
        snprintf(cupti.text, sizeof cupti.text,
                 "CUPTI does not record here (its error %d)", result);
        return false;
    }
    cupti.is_on = true;
    return true;
}

static bool cupti_open(void)
{
    void *library = cuda_library_open(CUDA_CUPTI);
    const char *missing = NULL;
    uint32_t version = 0;

    if (!library) {
        snprintf(cupti.text, sizeof cupti.text, "CUPTI was not found");
        return false;
    }
    if (!cuda_library_fill(library, cupti_names,
                           sizeof cupti_names / sizeof *cupti_names, &cupti.api,
                           &missing)) {
        snprintf(cupti.text, sizeof cupti.text, "CUPTI has no %s", missing);
        return false;
    }
    if (cupti.api.cuptiGetVersion(&version) || !cupti_is_known(version)) {
        snprintf(cupti.text, sizeof cupti.text,
                 "CUPTI's version %u is not one of those known", version);
        return false;
    }
    cupti.version = version;
    snprintf(cupti.text, sizeof cupti.text, "CUPTI %u", version);
    return true;
}

/* ASSAY_CUDA_TIMES=events leaves it alone. */
static bool cupti_try(struct cuda_device *device)
{
    const char *wanted = getenv("ASSAY_CUDA_TIMES");

    if (wanted && strcmp(wanted, "events") == 0) {
        snprintf(cupti.text, sizeof cupti.text, "ASSAY_CUDA_TIMES is events");
        return false;
    }
    if (!cupti_open())
        return false;
    if (cupti.api.cuptiActivityRegisterCallbacks(cupti_give_buffer,
                                                 cupti_read_buffer)) {
        snprintf(cupti.text, sizeof cupti.text,
                 "CUPTI records for somebody else");
        return false;
    }
    cupti_compare_clocks();
    cupti.device = device;
    if (cupti_enable())
        return true;
    cupti.device = NULL;
    return false;
}

/* ---- on and off ---------------------------------------------------------- */

/* Passes whose times nobody asks for show what recording costs: it is switched
 * off for them, unless that disturbs those that are recorded. */
static void cupti_switch(bool is_on)
{
    static const int64_t most_ns = 50000;
    int64_t before_ns = clock_monotonic_ns();

    if (cupti.stays_on || cupti.is_on == is_on)
        return;
    if (!is_on)
        cupti_disable(cupti_n_kinds);
    else if (!cupti_enable())
        cupti.device = NULL;
    if (clock_monotonic_ns() - before_ns <= most_ns)
        return;
    cupti.stays_on = true;
    if (!cupti.is_on && cupti.device && !cupti_enable())
        cupti.device = NULL;
    if (cupti.device)
        snprintf(cupti.text, sizeof cupti.text,
                 "CUPTI %u, which is not part of the recording's cost",
                 cupti.version);
}

bool cuda_cupti_watch(struct cuda_device *device, bool is_watched)
{
    if (!cupti.is_tried && is_watched) {
        cupti.is_tried = true;
        return cupti_try(device);
    }
    if (cupti.device != device)
        return false;
    cupti_switch(is_watched);
    if (is_watched && cupti.device)
        cupti_compare_clocks();
    return cupti.device == device;
}

void cuda_cupti_tag(uint32_t tag)
{
    uint64_t last;

    if (!cupti.device || tag == cupti_tag_here)
        return;
    if (cupti_tag_here)
        (void)cupti.api.cuptiActivityPopExternalCorrelationId(CUPTI_OUR_TAGS,
                                                              &last);
    cupti_tag_here = tag;
    if (tag)
        (void)cupti.api.cuptiActivityPushExternalCorrelationId(CUPTI_OUR_TAGS,
                                                               tag);
}

/* ---- reading ------------------------------------------------------------- */

void cuda_cupti_take_in(const struct cuda_device *device)
{
    if (cupti.device == device && cupti.is_on)
        (void)cupti.api.cuptiActivityFlushAll(0);
}

void cuda_cupti_visit(struct cuda_device *device, uint64_t n_launched,
                      queue_visit *visit, void *context)
{
    uint64_t n_visited;

    if (cupti.device != device || !cupti.is_on)
        return;
    (void)cupti.api.cuptiActivityFlushAll(0);
    pthread_mutex_lock(&cupti.lock);
    n_visited = cupti.book.n_visited;
    cuda_activities_visit(&cupti.book, visit, context);
    if (cupti.book.n_visited > n_visited)
        cupti.n_silent = 0;
    else if (n_launched)
        cupti.n_silent++;
    pthread_mutex_unlock(&cupti.lock);
    if (cupti.n_silent < cupti_most_silent)
        return;
    cupti_disable(cupti_n_kinds);
    cupti.device = NULL;
    snprintf(cupti.text, sizeof cupti.text,
             "CUPTI recorded nothing of what ran");
}
