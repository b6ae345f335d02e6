/* cuda_events.c - what a GPU did for a module, by events on the current stream;
 * see extension_internal.h.
 *
 * An event before and one after a call, recorded on the stream that is current
 * then, say when the device reached them. A thread reads them when the device
 * has passed them: the program never waits, and pays for recording alone. A
 * call that begins at once after another one ended shares its event, because
 * nothing can have been launched in between. The driver is loaded if it is
 * there; the stream is asked of PyTorch, once if it uses only one device and
 * nobody sets a stream. */
#include "extension_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* The part of the CUDA driver's interface that we use; 0 is success. */
static struct {
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed)(float *ms, void *from, void *to);
    int (*stream_is_capturing)(void *stream, int *answer);
    int (*context_get)(void **context);
    int (*context_set)(void *context);
    PyObject *current_stream; /* torch._C._cuda_getCurrentRawStream */
    PyObject *current_device; /* torch._C._cuda_getDevice */
    void *context;
    bool is_fixed;        /* there is one device, and nobody set a stream */
    struct stream *fixed; /* then: the stream, once it was asked for */
    bool is_open;
} cuda;

enum { MAX_DEVICES = 16, MAX_STREAMS = 64, MAX_WAITING = 65536, BATCH = 512 };

/* PyTorch takes longer than this to launch a kernel. */
static const int64_t no_launch_ns = 3500;

/* An event whose moment is known by both clocks. */
static struct base {
    struct cuda_event *event;
    int64_t clock_ns;
} bases[MAX_DEVICES];

static struct stream {
    void *stream;
    int device;
    assay_lane_t lane;
    struct cuda_event *last; /* the last one recorded, kept; NULL: none */
    int64_t last_ns;         /* on the host */
} streams[MAX_STREAMS];
static int n_streams;

struct cuda_event {
    void *handle;
    int n_uses; /* spans and tables that refer to it; 0: to be used again */
    int64_t clock_ns; /* of the reader: when it was passed; 0: not known */
    struct cuda_event *next_spare;
};

/* A span whose end the device may not have reached. */
struct waiting {
    struct cuda_mark mark;
    struct cuda_event *end;
    assay_scope_t scope;
};

/* Under the lock: the spans in order of their end, a ring, and events to be
 * used again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiting *waiting;
static size_t n_waiting, first_waiting;
static struct cuda_event *spare;
static bool is_closing;

static pthread_t reader;

static struct cuda_event *event_new(void)
{
    struct cuda_event *event = calloc(1, sizeof *event);

    if (event && cuda.event_create(&event->handle, 0)) {
        free(event);
        return NULL;
    }
    return event;
}

/* Under the lock. */
static void event_drop(struct cuda_event *event)
{
    if (event && --event->n_uses == 0) {
        event->next_spare = spare;
        spare = event;
    }
}

/* A number that a function of PyTorch returns; -1 on failure. */
static long long cuda_ask(PyObject *function, int argument)
{
    PyObject *answer = argument < 0
                           ? PyObject_CallObject(function, NULL)
                           : PyObject_CallFunction(function, "i", argument);
    long long number = answer ? PyLong_AsLongLong(answer) : -1;

    Py_XDECREF(answer);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    return number;
}

static struct stream *stream_find(void *stream, int device)
{
    char name[64];

    for (int i = 0; i < n_streams; i++) {
        if (streams[i].stream == stream && streams[i].device == device)
            return &streams[i];
    }
    if (n_streams == MAX_STREAMS)
        return NULL;
    snprintf(name, sizeof name, "cuda:%d stream %d", device, n_streams);
    streams[n_streams] = (struct stream){
        stream, device, assay_lane_open(name, ASSAY_LANE_DEVICE), NULL, 0};
    return &streams[n_streams++];
}

static struct stream *stream_current(bool is_outermost)
{
    long long device, raw;
    int is_capturing = 0;

    if (cuda.is_fixed && cuda.fixed)
        return cuda.fixed;
    device = cuda_ask(cuda.current_device, -1);
    if (device < 0 || device >= MAX_DEVICES)
        return NULL;
    raw = cuda_ask(cuda.current_stream, (int)device);
    if (raw == -1)
        return NULL;
    /* An event would become part of a graph that is being captured. */
    if (is_outermost &&
        (cuda.stream_is_capturing((void *)(intptr_t)raw, &is_capturing) ||
         is_capturing))
        return NULL;
    cuda.fixed = stream_find((void *)(intptr_t)raw, (int)device);
    return cuda.fixed;
}

/* Somebody sets a stream: from now on it may be another one at any time. */
PyObject *cuda_unfix(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    cuda.is_fixed = false;
    Py_RETURN_NONE;
}

/* Records an event, for `n_uses` and as the stream's last one. NULL: it cannot
 * be. */
static struct cuda_event *event_now(struct stream *stream)
{
    struct cuda_event *event;
    int64_t before_ns;

    pthread_mutex_lock(&lock);
    event = spare;
    if (event)
        spare = event->next_spare;
    pthread_mutex_unlock(&lock);
    if (!event)
        event = event_new();
    if (!event)
        return NULL;
    event->n_uses = 2; /* the caller's and the stream's */
    event->clock_ns = 0;
    before_ns = assay_clock_ns();
    if (cuda.event_record(event->handle, stream->stream)) {
        pthread_mutex_lock(&lock);
        event->n_uses = 1;
        event_drop(event);
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    event_drop(stream->last);
    pthread_mutex_unlock(&lock);
    stream->last = event;
    stream->last_ns = assay_clock_ns();
    /* This thread may have been interrupted after the event. */
    if (stream->last_ns - before_ns > 4 * no_launch_ns)
        stream->last_ns = before_ns;
    return event;
}

static struct cuda_event *event_share(struct stream *stream)
{
    if (!stream->last || assay_clock_ns() - stream->last_ns > no_launch_ns)
        return event_now(stream);
    pthread_mutex_lock(&lock);
    stream->last->n_uses++;
    pthread_mutex_unlock(&lock);
    return stream->last;
}

void cuda_begin(struct cuda_mark *mark, bool is_outermost)
{
    struct stream *stream = stream_current(is_outermost);

    *mark = (struct cuda_mark){0};
    if (!stream)
        return;
    mark->launched_ns = assay_clock_ns();
    mark->stream = stream;
    mark->event = event_share(stream);
}

void cuda_end(struct cuda_mark *mark, assay_scope_t scope)
{
    struct cuda_event *end = event_share(mark->stream);

    pthread_mutex_lock(&lock);
    if (end && n_waiting < MAX_WAITING && scope != ASSAY_SCOPE_NONE) {
        waiting[(first_waiting + n_waiting++) % MAX_WAITING] =
            (struct waiting){*mark, end, scope};
    } else {
        event_drop(mark->event);
        event_drop(end);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the thread that reads ------------------------------------------------
 */

/* Nanoseconds on the host's clock; -1 on failure. Neighbouring spans share
 * events, so it is asked once. */
static int64_t event_clock(const struct base *base, struct cuda_event *event)
{
    float ms;

    if (event->clock_ns)
        return event->clock_ns;
    if (!base->event ||
        cuda.event_elapsed(&ms, base->event->handle, event->handle))
        return -1;
    event->clock_ns = base->clock_ns + (int64_t)((double)ms * 1e6);
    return event->clock_ns;
}

/* Distances are floats: the base moves along. The clocks drift apart: nothing
 * begins before its launch. */
static void base_move(struct base *base, struct cuda_event *event,
                      int64_t clock_ns)
{
    static const int64_t often_ns = 50000000;

    if (clock_ns - base->clock_ns < often_ns)
        return;
    pthread_mutex_lock(&lock);
    event->n_uses++;
    event_drop(base->event);
    pthread_mutex_unlock(&lock);
    *base = (struct base){event, clock_ns};
}

static void waiting_report(const struct waiting *span)
{
    struct base *base = &bases[span->mark.stream->device];
    const struct assay_span_details details = {.launched_ns =
                                                   span->mark.launched_ns};
    int64_t begin_ns = event_clock(base, span->mark.event);
    int64_t end_ns = event_clock(base, span->end);
    int64_t late_ns = span->mark.launched_ns - begin_ns;

    if (begin_ns < 0 || end_ns < begin_ns)
        return;
    if (late_ns > 0 && late_ns > no_launch_ns) {
        base->clock_ns += late_ns;
        begin_ns += late_ns;
        end_ns += late_ns;
        span->end->clock_ns = end_ns;
    }
    assay_span_at(span->mark.stream->lane, span->scope, begin_ns, end_ns,
                  &details);
    base_move(base, span->end, end_ns);
}

/* How many spans at the beginning of a batch are over. Every question takes a
 * lock of the driver, which the program needs to launch kernels; a stream
 * passes its events in order, so that a few questions answer for all. */
static size_t batch_count_done(const struct waiting *batch, size_t n)
{
    size_t low = 0, high;

    for (high = 0; high < n; high++) {
        if (batch[high].mark.stream != batch[0].mark.stream)
            break;
    }
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (cuda.event_query(batch[middle - 1].end->handle) == 0)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Reports up to a batch of spans that the device has passed. Returns how many.
 */
static size_t cuda_read_batch(void)
{
    static struct waiting batch[BATCH];
    size_t n, n_done;

    pthread_mutex_lock(&lock);
    n = n_waiting < BATCH ? n_waiting : BATCH;
    for (size_t i = 0; i < n; i++)
        batch[i] = waiting[(first_waiting + i) % MAX_WAITING];
    pthread_mutex_unlock(&lock);
    n_done = batch_count_done(batch, n);
    for (size_t i = 0; i < n_done; i++)
        waiting_report(&batch[i]);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_done; i++) {
        event_drop(batch[i].mark.event);
        event_drop(batch[i].end);
    }
    first_waiting = (first_waiting + n_done) % MAX_WAITING;
    n_waiting -= n_done;
    pthread_mutex_unlock(&lock);
    return n_done;
}

static bool cuda_is_closing(void)
{
    bool is;

    pthread_mutex_lock(&lock);
    is = is_closing;
    pthread_mutex_unlock(&lock);
    return is;
}

static void *cuda_read(void *unused)
{
    static const struct timespec pause = {.tv_nsec = 20000000};

    (void)unused;
    if (cuda.context_set(cuda.context))
        return NULL;
    while (!cuda_is_closing()) {
        if (cuda_read_batch() < BATCH) /* a full batch: more may be over */
            nanosleep(&pause, NULL);
    }
    /* After the program's last iteration the device may still work for it. */
    for (int i = 0; i < 200 && n_waiting > 0; i++) {
        if (cuda_read_batch() == 0)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- opening and closing --------------------------------------------------
 */

static bool cuda_load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!driver)
        return false;
    *(void **)&cuda.event_create = dlsym(driver, "cuEventCreate");
    *(void **)&cuda.event_record = dlsym(driver, "cuEventRecord");
    *(void **)&cuda.event_query = dlsym(driver, "cuEventQuery");
    *(void **)&cuda.event_elapsed = dlsym(driver, "cuEventElapsedTime");
    *(void **)&cuda.stream_is_capturing = dlsym(driver, "cuStreamIsCapturing");
    *(void **)&cuda.context_get = dlsym(driver, "cuCtxGetCurrent");
    *(void **)&cuda.context_set = dlsym(driver, "cuCtxSetCurrent");
    return cuda.event_create && cuda.event_record && cuda.event_query &&
           cuda.event_elapsed && cuda.stream_is_capturing && cuda.context_get &&
           cuda.context_set;
}

/* The base of a device: an event on its idle stream. The only wait, before the
 * recording. */
static bool base_start(int device)
{
    struct stream *stream = stream_current(true);
    struct cuda_event *event = stream ? event_now(stream) : NULL;
    int64_t limit_ns = assay_clock_ns() + 2000000000;

    if (!event)
        return false;
    while (cuda.event_query(event->handle) != 0) {
        if (assay_clock_ns() > limit_ns)
            return false;
    }
    bases[device] = (struct base){event, assay_clock_ns()};
    return true;
}

static bool cuda_start(int device)
{
    if (device < 0 || device >= MAX_DEVICES ||
        cuda.context_get(&cuda.context) || !base_start(device))
        return false;
    is_closing = false;
    return pthread_create(&reader, NULL, cuda_read, NULL) == 0;
}

static void cuda_keep(PyObject **kept, PyObject *function)
{
    Py_INCREF(function);
    Py_XDECREF(*kept);
    *kept = function;
}

bool cuda_open(PyObject *args)
{
    PyObject *stream, *current;
    int device, is_fixed;

    if (!PyArg_ParseTuple(args, "OOip", &stream, &current, &device, &is_fixed))
        return false;
    if (!cuda_load()) {
        PyErr_SetString(PyExc_OSError, "the CUDA driver, libcuda.so.1, cannot "
                                       "be loaded");
        return false;
    }
    if (!waiting)
        waiting = calloc(MAX_WAITING, sizeof *waiting);
    if (!waiting) {
        PyErr_NoMemory();
        return false;
    }
    cuda_keep(&cuda.current_stream, stream);
    cuda_keep(&cuda.current_device, current);
    cuda.is_fixed = is_fixed;
    cuda.fixed = NULL;
    cuda.is_open = cuda_start(device);
    if (!cuda.is_open)
        PyErr_SetString(PyExc_OSError,
                        "no event could be recorded on the current stream");
    return cuda.is_open;
}

void cuda_close(void)
{
    if (!cuda.is_open)
        return;
    cuda.is_open = false;
    pthread_mutex_lock(&lock);
    is_closing = true;
    pthread_mutex_unlock(&lock);
    Py_BEGIN_ALLOW_THREADS pthread_join(reader, NULL);
    Py_END_ALLOW_THREADS for (size_t i = 0; i < n_waiting; i++)
    {
        struct waiting *span = &waiting[(first_waiting + i) % MAX_WAITING];

        event_drop(span->mark.event);
        event_drop(span->end);
    }
    n_waiting = first_waiting = 0;
}

/* Nothing is given back: the driver's state is the parent's. */
void cuda_forget(void)
{
    pthread_mutex_init(&lock, NULL); /* its owner may not be here */
    cuda.is_open = false;
    n_waiting = first_waiting = 0;
    spare = NULL;
}
