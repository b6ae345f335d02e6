/* machine/offers.c - this machine's sensors and counters, or why not. */
#include "machine/machine.h"

#include "base/sysfs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int machine_try_counter(void)
{
    struct perf_event_attr counter = {.type = PERF_TYPE_HARDWARE,
                                      .size = sizeof counter,
                                      .config = PERF_COUNT_HW_INSTRUCTIONS,
                                      .disabled = 1,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1};
    long opened = syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0UL);

    if (opened < 0)
        return errno;
    close((int)opened);
    return 0;
}

static struct machine_offer missing(const char *way)
{
    struct machine_offer offer = {.is_there = false};

    snprintf(offer.way, sizeof offer.way, "%s", way);
    return offer;
}

static struct machine_offer find_counters(const char *root,
                                          machine_open_counter *open_counter)
{
    int why = open_counter();
    double paranoid = sysfs_number(root, "proc/sys/kernel/perf_event_paranoid");
    struct machine_offer offer = {.is_there = why == 0};

    if (why == EACCES || why == EPERM)
        snprintf(offer.way, sizeof offer.way,
                 "not allowed, perf_event_paranoid is %.0f: sysctl "
                 "kernel.perf_event_paranoid=1",
                 paranoid);
    else if (why == ENOSYS)
        offer = missing("forbidden here: run outside this container");
    else if (why)
        offer = missing("none in this virtual machine: its host can pass on a "
                        "virtual PMU");
    return offer;
}

static struct machine_offer find_energy(const char *root)
{
    static const char counter[] = "sys/class/powercap/intel-rapl:0/energy_uj";
    struct machine_offer offer = {.is_there = true};
    char line[64], path[512];

    if (sysfs_line(line, sizeof line, root, "%s", counter))
        return offer;
    snprintf(path, sizeof path, "%s/%s", root, counter);
    if (access(path, F_OK) == 0)
        return missing("only root may read it: chmod a+r "
                       "/sys/class/powercap/intel-rapl:0/energy_uj");
    return missing("no RAPL sensor: bare metal has one");
}

static struct machine_offer offers_find_file(const char *root, const char *path,
                                             const char *way)
{
    struct machine_offer offer = {.is_there = true};

    return isnan(sysfs_number(root, "%s", path)) ? missing(way) : offer;
}

void machine_offers(const char *root, machine_open_counter *open_counter,
                    struct machine_offers *out)
{
    out->counters = find_counters(root, open_counter);
    out->energy = find_energy(root);
    out->frequency = offers_find_file(
        root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
        "kept by the host");
    out->throttling = offers_find_file(
        root,
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
        "kept by the host");
}

/* Neighbours that are missing for the same reason share it. */
enum assay_status machine_missing(const struct machine_offers *offers,
                                  struct str *line)
{
    const struct {
        const char *what;
        const struct machine_offer *offer;
    } items[] = {{"hardware counters", &offers->counters},
                 {"energy", &offers->energy},
                 {"frequency", &offers->frequency},
                 {"throttling", &offers->throttling}};
    enum { n_items = sizeof items / sizeof *items };
    const char *reason = NULL;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n_items; i++) {
        const struct machine_offer *offer = items[i].offer;
        const char *next = i + 1 < n_items ? items[i + 1].offer->way : "";

        if (offer->is_there)
            continue;
        if (line->n)
            st = str_append(line, reason ? "; " : ", ");
        reason = strcmp(offer->way, next) == 0 ? NULL : offer->way;
        if (!st)
            st = str_append(line, items[i].what);
        if (!st && reason)
            st = str_printf(line, " (%s)", reason);
    }
    return st;
}
