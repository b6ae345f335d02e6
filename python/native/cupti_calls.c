/* cupti_calls.c - CUPTI, which records what a GPU ran; see
 * extension_internal.h.
 *
 * Only the beginnings of its records are declared: these have been the same
 * since CUDA 11.1, while more was added at their ends. Versions that nobody has
 * looked at are refused. src/backend/cuda/cuda_cupti.h has the same for the
 * engine; this folder stands on include/assay/ alone and cannot share it. */
#include "extension_internal.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum cupti_kind {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 10, /* CONCURRENT_KERNEL */
};

enum {
    COPY_IN = 1,  /* MEMCPY_KIND_HTOD */
    COPY_OUT = 2, /* MEMCPY_KIND_DTOH */
};

enum cupti_domain { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2 };
enum cupti_site { SITE_ENTER, SITE_EXIT };

struct record_kernel {
    uint32_t kind;
    uint32_t unused_1[3];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared[2];
    uint32_t local[2];
    uint32_t correlation;
    int64_t unused_2;
    const char *name;
};

struct record_copy { /* and a memset, but for copy_kind */
    uint32_t kind;
    uint8_t copy_kind, unused_1[3];
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
};

/* What a callback is told. */
struct callback_data {
    uint32_t site;
    const char *function_name;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *unused;
    uint32_t correlation;
};

_Static_assert(offsetof(struct record_kernel, start) == 16 &&
                   offsetof(struct record_kernel, device) == 40 &&
                   offsetof(struct record_kernel, correlation) == 92 &&
                   offsetof(struct record_kernel, name) == 104,
               "as CUpti_ActivityKernel5 to 11 begin");
_Static_assert(offsetof(struct record_copy, start) == 16 &&
                   offsetof(struct record_copy, device) == 32 &&
                   offsetof(struct record_copy, correlation) == 44,
               "as CUpti_ActivityMemcpy4 to 6 and Memset3 and 4 begin");
_Static_assert(offsetof(struct callback_data, correlation) == 64,
               "as in CUpti_CallbackData");

typedef void cupti_callback(void *context, int domain, uint32_t function,
                            const struct callback_data *data);

/* 0 is success. */
static struct {
    int (*get_version)(uint32_t *version);
    int (*get_timestamp)(uint64_t *time);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*register_callbacks)(cupti_wants_buffer *wants, cupti_has_buffer *has);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*flush)(uint32_t flag);
    int (*subscribe)(void **subscriber, cupti_callback *callback,
                     void *context);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t is_on, void *subscriber, int domain,
                           uint32_t function);
    void *subscriber; /* NULL: we are none */
} cupti;

static const struct {
    const char *name;
    void **function;
} functions[] = {
    {"cuptiGetVersion", (void **)&cupti.get_version},
    {"cuptiGetTimestamp", (void **)&cupti.get_timestamp},
    {"cuptiActivityEnable", (void **)&cupti.enable},
    {"cuptiActivityDisable", (void **)&cupti.disable},
    {"cuptiActivityRegisterCallbacks", (void **)&cupti.register_callbacks},
    {"cuptiActivityGetNextRecord", (void **)&cupti.next_record},
    {"cuptiActivityFlushAll", (void **)&cupti.flush},
    {"cuptiSubscribe", (void **)&cupti.subscribe},
    {"cuptiUnsubscribe", (void **)&cupti.unsubscribe},
    {"cuptiEnableCallback", (void **)&cupti.enable_callback},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- opening --------------------------------------------------------------
 */

/* The one that PyTorch has loaded comes first: a second one would not get any
 * records. */
static void *cupti_find(const char *const *files, size_t n)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        for (size_t i = 0; i < n; i++) {
            void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL |
                                                 (is_new ? 0 : RTLD_NOLOAD));

            if (library)
                return library;
        }
    }
    return NULL;
}

static bool cupti_is_known(uint32_t version)
{
    /* Counted up until CUDA 12.9, two digits each of CUDA's version since. */
    enum { cuda_11_8 = 18, cuda_12_9_1 = 28 };
    enum { cuda_13_0 = 130000, cuda_13_3 = 130300 };

    return (version >= cuda_11_8 && version <= cuda_12_9_1) ||
           (version >= cuda_13_0 && version < cuda_13_3);
}

bool cupti_open(const char *const *files, size_t n_files, char *text,
                size_t size)
{
    void *library = cupti_find(files, n_files);
    uint32_t version = 0;

    if (!library) {
        snprintf(text, size, "CUPTI was not found");
        return false;
    }
    for (int i = 0; i < N_FUNCTIONS; i++) {
        *functions[i].function = dlsym(library, functions[i].name);
        if (!*functions[i].function) {
            snprintf(text, size, "CUPTI has no %s", functions[i].name);
            return false;
        }
    }
    if (cupti.get_version(&version) || !cupti_is_known(version)) {
        snprintf(text, size, "CUPTI's version %u is not one of those known",
                 version);
        return false;
    }
    snprintf(text, size, "CUPTI %u", version);
    return true;
}

int64_t cupti_ahead_ns(void)
{
    int64_t best_ns = INT64_MAX, ahead_ns = 0;

    /* The reading that was interrupted least. */
    for (int i = 0; i < 4; i++) {
        int64_t before = assay_clock_ns(), after;
        uint64_t time = 0;

        if (cupti.get_timestamp(&time))
            break;
        after = assay_clock_ns();
        if (after - before < best_ns) {
            best_ns = after - before;
            ahead_ns = (int64_t)time - (before + best_ns / 2);
        }
    }
    return ahead_ns;
}

/* ---- on and off -----------------------------------------------------------
 */

static const int kinds[] = {KIND_MEMCPY, KIND_MEMSET, KIND_KERNEL};

/* The calls that launch something, by the numbers that CUPTI gives to
 * functions, which never change. */
static const uint32_t runtime_calls[] = {
    31,  41,  44,  49,  51,  211, 214, 225, 228,
    235, 269, 270, 311, 312, 430, 431, 505, 506,
};
static const uint32_t driver_calls[] = {
    71,  73,  75,  216, 218, 220, 249, 250, 251, 276, 277,
    278, 279, 280, 281, 305, 306, 307, 418, 421, 422, 423,
    428, 429, 430, 442, 477, 478, 514, 515, 652, 653,
};

enum {
    N_KINDS = sizeof kinds / sizeof *kinds,
    N_RUNTIME_CALLS = sizeof runtime_calls / sizeof *runtime_calls,
    N_DRIVER_CALLS = sizeof driver_calls / sizeof *driver_calls,
};

/* On the thread that calls. */
static void cupti_called(void *context, int domain, uint32_t function,
                         const struct callback_data *data)
{
    (void)context, (void)domain, (void)function;
    if (data->site == SITE_ENTER)
        kernels_called(data->correlation);
}

int cupti_start(cupti_wants_buffer *wants, cupti_has_buffer *has)
{
    int error = cupti.subscribe(&cupti.subscriber, cupti_called, NULL);

    if (error)
        cupti.subscriber = NULL;
    else
        error = cupti.register_callbacks(wants, has);
    if (error)
        cupti_stop();
    return error;
}

void cupti_stop(void)
{
    if (cupti.subscriber)
        (void)cupti.unsubscribe(cupti.subscriber);
    cupti.subscriber = NULL;
}

/* A version that does not have a function refuses its number. */
void cupti_record(bool is_on)
{
    for (int i = 0; i < N_RUNTIME_CALLS; i++)
        (void)cupti.enable_callback(is_on, cupti.subscriber, DOMAIN_RUNTIME,
                                    runtime_calls[i]);
    for (int i = 0; i < N_DRIVER_CALLS; i++)
        (void)cupti.enable_callback(is_on, cupti.subscriber, DOMAIN_DRIVER,
                                    driver_calls[i]);
    for (int i = 0; i < N_KINDS; i++)
        (void)(is_on ? cupti.enable : cupti.disable)(kinds[i]);
}

void cupti_flush(bool is_last)
{
    enum { also_unfinished = 1 };

    (void)cupti.flush(is_last ? also_unfinished : 0);
}

/* ---- records --------------------------------------------------------------
 */

static void cupti_read_kernel(const void *record)
{
    struct record_kernel kernel;

    memcpy(&kernel, record, sizeof kernel);
    kernels_ran(&(struct kernel_ran){kernel.correlation, kernel.device,
                                     kernel.stream, WORK_KERNEL, kernel.start,
                                     kernel.end, kernel.name});
}

static void cupti_read_copy(const void *record)
{
    struct record_copy copy;
    enum kernel_work work = WORK_KERNEL;
    const char *name = "memset";

    memcpy(&copy, record, sizeof copy);
    if (copy.kind == KIND_MEMCPY) {
        name = "memcpy";
        work = copy.copy_kind == COPY_IN    ? WORK_COPY_IN
               : copy.copy_kind == COPY_OUT ? WORK_COPY_OUT
                                            : WORK_KERNEL;
    }
    kernels_ran(&(struct kernel_ran){copy.correlation, copy.device, copy.stream,
                                     work, copy.start, copy.end, name});
}

static void cupti_read_record(const void *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    if (kind == KIND_KERNEL)
        cupti_read_kernel(record);
    else if (kind == KIND_MEMCPY || kind == KIND_MEMSET)
        cupti_read_copy(record);
}

void cupti_read(uint8_t *buffer, size_t valid)
{
    void *record = NULL;

    while (valid && cupti.next_record(buffer, valid, &record) == 0)
        cupti_read_record(record);
}
