/* backend/cuda/cuda_nvml.c - see cuda_nvml.h. */
#include "backend/cuda/cuda_nvml.h"

#include "backend/cuda/cuda_libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct nvml_device_st *nvml_device;

struct nvml_utilisation {
    unsigned gpu, memory; /* percent of the last moments */
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes; /* all ones: unknown */
    unsigned gpu_instance, compute_instance;
};

/* Of a process, over the last sixth of a second to second. */
struct nvml_share {
    unsigned pid;
    unsigned long long at_us;
    unsigned sm, memory, encoder, decoder; /* percent */
};

enum { NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0, nvml_most_processes = 64 };

/* Looked up one by one: older drivers lack some. */
static void *nvml_function(const char *name)
{
    void *library = cuda_library_open(CUDA_NVML);

    return library ? dlsym(library, name) : NULL;
}

/* A function by name, with these parameters; NULL: it is not there. */
#define NVML_AS(variable, parameters, name)                                    \
    int(*variable) parameters;                                                 \
    void *variable##_address = nvml_function(name);                            \
    memcpy(&variable, &variable##_address, sizeof variable)

static bool nvml_open(struct cuda_device *device, nvml_device *out)
{
    char bus[64] = "";
    NVML_AS(start, (void), "nvmlInit_v2");
    NVML_AS(find, (const char *, nvml_device *),
            "nvmlDeviceGetHandleByPciBusId_v2");

    return start && find && start() == 0 &&
           cuda_driver()->cuDeviceGetPCIBusId(bus, sizeof bus,
                                              device->handle) == 0 &&
           find(bus, out) == 0;
}

static double nvml_unsigned(nvml_device device, const char *name)
{
    unsigned value = 0;
    NVML_AS(get, (nvml_device, unsigned *), name);

    return get && get(device, &value) == 0 ? (double)value : NAN;
}

static double nvml_of_kind(nvml_device device, const char *name, int kind)
{
    unsigned value = 0;
    NVML_AS(get, (nvml_device, int, unsigned *), name);

    return get && get(device, kind, &value) == 0 ? (double)value : NAN;
}

static bool nvml_bits(nvml_device device, const char *name,
                      unsigned long long *bits)
{
    NVML_AS(get, (nvml_device, unsigned long long *), name);

    return get && get(device, bits) == 0;
}

void cuda_nvml_throttling(unsigned long long bits, char *text, size_t size)
{
    static const struct {
        unsigned long long bit;
        const char *name;
    } reasons[] = {{0x4, "power limit"},
                   {0x8, "hardware slowdown"},
                   {0x20, "heat"},
                   {0x40, "heat (hardware)"},
                   {0x80, "power brake"}};
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (bits & reasons[i].bit && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s",
                                     used ? ", " : "", reasons[i].name);
    }
}

/* Whoever has a context on it, besides us. */
static void nvml_count_others(nvml_device device, struct device_look *look)
{
    struct nvml_process processes[nvml_most_processes];
    unsigned n = nvml_most_processes;
    NVML_AS(list, (nvml_device, unsigned *, struct nvml_process *),
            "nvmlDeviceGetComputeRunningProcesses_v3");

    if (!list || list(device, &n, processes) || n > nvml_most_processes)
        return;
    look->n_others = 0;
    look->others_bytes = 0;
    for (unsigned i = 0; i < n; i++) {
        if (processes[i].pid == (unsigned)getpid())
            continue;
        look->n_others++;
        if (processes[i].used_bytes != ~0ULL)
            look->others_bytes += (double)processes[i].used_bytes;
    }
}

/* What they took of its time lately; processes may be listed more than once,
 * the newest is taken. */
static void nvml_time_others(nvml_device device, struct device_look *look)
{
    struct nvml_share shares[nvml_most_processes];
    unsigned n = nvml_most_processes;
    NVML_AS(list,
            (nvml_device, struct nvml_share *, unsigned *, unsigned long long),
            "nvmlDeviceGetProcessUtilization");

    if (!(look->n_others > 0) || !list || list(device, shares, &n, 0) ||
        n > nvml_most_processes)
        return;
    look->others_busy = 0;
    for (unsigned i = 0; i < n; i++) {
        bool is_newest = shares[i].pid != (unsigned)getpid();

        for (unsigned k = 0; k < n; k++)
            is_newest = is_newest && (shares[k].pid != shares[i].pid ||
                                      shares[k].at_us <= shares[i].at_us);
        look->others_busy += is_newest ? shares[i].sm / 100.0 : 0;
    }
}

void cuda_nvml_look(struct cuda_device *device, struct device_look *look)
{
    struct nvml_utilisation busy;
    unsigned long long bits;
    nvml_device nvml;
    NVML_AS(version, (char *, unsigned), "nvmlSystemGetDriverVersion");
    NVML_AS(get_busy, (nvml_device, struct nvml_utilisation *),
            "nvmlDeviceGetUtilizationRates");

    if (!nvml_open(device, &nvml))
        return;
    if (version)
        (void)version(look->driver, sizeof look->driver);
    look->mhz = nvml_of_kind(nvml, "nvmlDeviceGetClockInfo", NVML_CLOCK_SM);
    look->max_mhz =
        nvml_of_kind(nvml, "nvmlDeviceGetMaxClockInfo", NVML_CLOCK_SM);
    look->watts = nvml_unsigned(nvml, "nvmlDeviceGetPowerUsage") / 1e3;
    look->most_watts =
        nvml_unsigned(nvml, "nvmlDeviceGetEnforcedPowerLimit") / 1e3;
    look->celsius =
        nvml_of_kind(nvml, "nvmlDeviceGetTemperature", NVML_TEMPERATURE_GPU);
    if (nvml_bits(nvml, "nvmlDeviceGetTotalEnergyConsumption", &bits))
        look->joules = (double)bits / 1e3;
    look->knows_throttling =
        nvml_bits(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", &bits);
    if (look->knows_throttling)
        cuda_nvml_throttling(bits, look->throttling, sizeof look->throttling);
    if (get_busy && get_busy(nvml, &busy) == 0)
        look->utilisation = busy.gpu / 100.0;
    nvml_count_others(nvml, look);
    nvml_time_others(nvml, look);
}
