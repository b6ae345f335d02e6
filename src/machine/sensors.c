/* machine/sensors.c - frequency, heat, load and memory, from the kernel. */
#include "machine/machine.h"

#include "base/decimal.h"
#include "base/scanner.h"
#include "base/sysfs.h"

#include <math.h>
#include <string.h>

static const char cpu_folder[] = "sys/devices/system/cpu";

static double sensors_plus(double sum, double value)
{
    return isnan(value) ? sum : isnan(sum) ? value : sum + value;
}

/* The kernel has kHz; not every processor has a value. */
static void sensors_read_frequency(const char *root, struct machine_state *out)
{
    char online[1024];
    const char *at = online;
    int last = -1, cpu, n = 0;
    double sum = 0;

    if (!sysfs_line(online, sizeof online, root, "%s/online", cpu_folder))
        return;
    while ((cpu = sysfs_next(&at, &last)) >= 0) {
        double khz = sysfs_number(root, "%s/cpu%d/cpufreq/scaling_cur_freq",
                                  cpu_folder, cpu);
        double most = sysfs_number(root, "%s/cpu%d/cpufreq/cpuinfo_max_freq",
                                   cpu_folder, cpu);

        sum += khz > 0 ? khz : 0;
        n += khz > 0;
        out->max_mhz = fmax(out->max_mhz, most / 1e3);
        out->throttled = sensors_plus(
            out->throttled,
            sysfs_number(root, "%s/cpu%d/thermal_throttle/core_throttle_count",
                         cpu_folder, cpu));
    }
    if (n > 0)
        out->mhz = sum / n / 1e3;
    if (!sysfs_line(out->governor, sizeof out->governor, root,
                    "%s/cpu0/cpufreq/scaling_governor", cpu_folder))
        out->governor[0] = '\0';
}

/* "some avg10=78.67 avg60=...": percent of the time. */
static double read_pressure(const char *root)
{
    char line[128];
    const char *at = line;
    double percent;
    size_t n;

    if (!sysfs_line(line, sizeof line, root, "proc/pressure/cpu") ||
        !scan_word(&at, "some avg10="))
        return NAN;
    n = strspn(at, "0123456789.");
    percent = decimal_double(at, n);
    return n && percent <= 100 ? percent / 100 : (double)NAN;
}

static double read_kib(const char *meminfo, const char *key)
{
    const char *value = sysfs_field(meminfo, key);
    uint64_t kib;

    if (!value)
        return NAN;
    scan_blanks(&value);
    return scan_number(&value, UINT64_MAX, &kib) ? (double)kib * 1024
                                                 : (double)NAN;
}

static void read_memory(const char *root, struct machine_state *out)
{
    char text[4096];

    if (!sysfs_read(text, sizeof text, root, "proc/meminfo"))
        return;
    out->memory_bytes = read_kib(text, "MemTotal:");
    out->available_bytes = read_kib(text, "MemAvailable:");
}

void machine_state(const char *root, struct machine_state *out)
{
    *out = (struct machine_state){.mhz = NAN,
                                  .max_mhz = NAN,
                                  .throttled = NAN,
                                  .load = sysfs_number(root, "proc/loadavg"),
                                  .pressure = read_pressure(root),
                                  .memory_bytes = NAN,
                                  .available_bytes = NAN};
    sensors_read_frequency(root, out);
    read_memory(root, out);
}

/* "cpu  user nice system idle iowait irq softirq steal ...": time
 * stolen by other guests of the same host is busy too. */
bool machine_ticks(const char *root, struct machine_ticks *out)
{
    uint64_t t[8] = {0};
    char line[256];
    const char *at = line;
    size_t n = 0;

    *out = (struct machine_ticks){0};
    if (!sysfs_line(line, sizeof line, root, "proc/stat") ||
        !scan_word(&at, "cpu "))
        return false;
    for (; n < 8; n++) {
        scan_blanks(&at);
        if (!scan_number(&at, UINT64_MAX, &t[n]))
            break;
    }
    if (n < 4)
        return false;
    for (size_t i = 0; i < 8; i++)
        out->all += t[i];
    out->busy = out->all - t[3] - t[4];
    out->stolen = t[7];
    return true;
}
