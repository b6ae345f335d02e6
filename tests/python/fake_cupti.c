/* fake_cupti.c - stands in for CUPTI, libcupti.so.13, in tests of device times:
 * a device that begins what fake_launch() launches some milliseconds later, and
 * a profiler that records it as CUPTI does. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, NO_MORE = 12, SUBSCRIBED = 39, UNKNOWN = 999 };
enum { COPY = 1, KERNEL = 10, RUNTIME_DOMAIN = 2 };
enum { LAUNCH_KERNEL = 211, MOST_RECORDS = 1 << 16 };

typedef void wants_buffer(uint8_t **buffer, size_t *size, size_t *most);
typedef void has_buffer(void *context, uint32_t stream, uint8_t *buffer,
                        size_t size, size_t valid);

/* All records have the same size here; each begins as CUPTI's does. */
union record {
    uint32_t kind;
    struct {
        uint32_t head[4];
        uint64_t start, end, completed;
        uint32_t device, context, stream;
        uint32_t shape[10], correlation;
        int64_t grid;
        const char *name;
    } kernel;
    struct {
        uint32_t kind;
        uint8_t direction, head[3];
        uint64_t bytes, start, end;
        uint32_t device, context, stream, correlation;
    } copy;
};

/* What a callback is told. */
struct data {
    uint64_t site;
    const void *unused_1[5];
    uint64_t unused_2;
    void *unused_3;
    uint32_t correlation;
};
typedef void callback(void *context, int domain, uint32_t function,
                      const struct data *data);

static const uint64_t late_ns = 5000000, ahead_ns = 7000000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    wants_buffer *wants;
    has_buffer *has;
    int is_on[64], has_calls;
    callback *called;
    union record records[MOST_RECORDS];
    size_t n;
    uint32_t correlation;
    uint64_t free_at; /* when the device is done */
} fake;

static uint64_t fake_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + ahead_ns;
}

int cuptiGetVersion(uint32_t *version);
int cuptiGetTimestamp(uint64_t *time);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityRegisterCallbacks(wants_buffer *wants, has_buffer *has);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiSubscribe(void **subscriber, callback *called, void *context);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t is_on, void *subscriber, int domain,
                        uint32_t function);
void fake_launch(const char *name, uint32_t stream, int microseconds);

int cuptiGetVersion(uint32_t *version)
{
    const char *wanted = getenv("FAKE_CUPTI_VERSION");

    *version = wanted ? (uint32_t)atoi(wanted) : 130001;
    return SUCCESS;
}

int cuptiGetTimestamp(uint64_t *time)
{
    *time = fake_now();
    return SUCCESS;
}

/* A call that waits for a thread of CUPTI's, which is not there after a fork,
 * never returns. */
static void fake_wait_in_child(void)
{
    static pid_t owner;

    if (!owner)
        owner = getpid();
    while (owner != getpid())
        pause();
}

int cuptiActivityEnable(int kind)
{
    fake_wait_in_child();
    fake.is_on[kind] = 1;
    return SUCCESS;
}

int cuptiActivityDisable(int kind)
{
    fake_wait_in_child();
    fake.is_on[kind] = 0;
    return SUCCESS;
}

int cuptiActivityRegisterCallbacks(wants_buffer *wants, has_buffer *has)
{
    fake.wants = wants;
    fake.has = has;
    return SUCCESS;
}

int cuptiSubscribe(void **subscriber, callback *called, void *context)
{
    (void)context;
    if (fake.called || getenv("FAKE_CUPTI_IS_TAKEN"))
        return SUBSCRIBED;
    fake.called = called;
    *subscriber = &fake;
    return SUCCESS;
}

int cuptiUnsubscribe(void *subscriber)
{
    fake_wait_in_child();
    if (subscriber != &fake)
        return UNKNOWN;
    fake.called = NULL;
    fake.has_calls = 0;
    return SUCCESS;
}

int cuptiEnableCallback(uint32_t is_on, void *subscriber, int domain,
                        uint32_t function)
{
    if (subscriber != &fake)
        return UNKNOWN;
    if (domain == RUNTIME_DOMAIN && function == LAUNCH_KERNEL)
        fake.has_calls = (int)is_on;
    return SUCCESS;
}

static void fake_add(union record record)
{
    if (fake.n < MOST_RECORDS)
        fake.records[fake.n++] = record;
}

/* As at the beginning and at the end of a launch. */
static void fake_call(uint32_t correlation)
{
    for (uint64_t site = 0; site < 2 && fake.has_calls; site++)
        fake.called(NULL, RUNTIME_DOMAIN, LAUNCH_KERNEL,
                    &(struct data){.site = site, .correlation = correlation});
}

/* "HtoD" is a copy. One thing runs at a time, on whatever stream. */
void fake_launch(const char *name, uint32_t stream, int microseconds)
{
    uint64_t begin = fake_now() + late_ns, end;
    union record record = {0};
    int is_copy = strcmp(name, "HtoD") == 0;

    pthread_mutex_lock(&lock);
    fake.correlation++;
    fake_call(fake.correlation);
    if (begin < fake.free_at)
        begin = fake.free_at;
    end = begin + (uint64_t)microseconds * 1000;
    fake.free_at = end;
    if (is_copy) {
        record.copy.kind = COPY;
        record.copy.direction = 1;
        record.copy.start = begin;
        record.copy.end = end;
        record.copy.stream = stream;
        record.copy.correlation = fake.correlation;
    } else {
        record.kind = KERNEL;
        record.kernel.start = begin;
        record.kernel.end = end;
        record.kernel.stream = stream;
        record.kernel.correlation = fake.correlation;
        record.kernel.name = strdup(name);
    }
    if (fake.is_on[record.kind])
        fake_add(record);
    pthread_mutex_unlock(&lock);
}

static int record_is_over(const union record *record)
{
    return record->kind == KERNEL ? record->kernel.end <= fake_now()
           : record->kind == COPY ? record->copy.end <= fake_now()
                                  : 1;
}

/* Takes a record that is complete; 0: there is none. */
static int fake_take(union record *record)
{
    int is_there = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < fake.n && !is_there; i++) {
        if (!record_is_over(&fake.records[i]))
            continue;
        *record = fake.records[i];
        memmove(&fake.records[i], &fake.records[i + 1],
                (fake.n - i - 1) * sizeof *record);
        fake.n--;
        is_there = 1;
    }
    pthread_mutex_unlock(&lock);
    return is_there;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    union record record;
    uint8_t *buffer = NULL;
    size_t size = 0, most = 0, valid = 0;

    (void)flag;
    fake_wait_in_child();
    while (fake_take(&record)) {
        if (!buffer)
            fake.wants(&buffer, &size, &most);
        if (!buffer)
            return UNKNOWN;
        memcpy(buffer + valid, &record, sizeof record);
        valid += sizeof record;
        if (valid + sizeof record > size) {
            fake.has(NULL, 0, buffer, size, valid);
            buffer = NULL;
            valid = 0;
        }
    }
    if (buffer)
        fake.has(NULL, 0, buffer, size, valid);
    return SUCCESS;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *next =
        *record ? (uint8_t *)*record + sizeof(union record) : buffer;

    if (next >= buffer + valid)
        return NO_MORE;
    *record = next;
    return SUCCESS;
}
