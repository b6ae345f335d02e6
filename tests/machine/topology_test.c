/* tests/machine/topology_test.c - processors, caches and sensors of fake
 * machines. */
#include "made_machine.h"

#include "base/sysfs.h"

#include <errno.h>
#include <math.h>
#include <string.h>

TEST(lists_of_processors_are_read_to_their_end)
{
    static const struct {
        const char *text;
        int numbers[8]; /* -1 at the end */
    } cases[] = {{"0-3,8\n", {0, 1, 2, 3, 8, -1}},
                 {"5\n", {5, -1}},
                 {"0,2,4-5", {0, 2, 4, 5, -1}},
                 {"", {-1}},
                 {"\n", {-1}},
                 {"x", {-1}},
                 {"3-1", {3, -1}},
                 {"2-", {2, -1}},
                 {"4,,5", {4, -1}},
                 {"99999999999", {-1}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].text;
        int last = -1, n = 0;

        while (cases[i].numbers[n] >= 0)
            CHECK_INT(sysfs_next(&at, &last), cases[i].numbers[n++]);
        CHECK_INT(sysfs_next(&at, &last), -1);
    }
}

TEST(cores_sockets_and_caches_are_counted_once)
{
    const char *root = test_path("sockets");
    struct machine_topology topology;
    char text[160];

    made_sockets(root);
    machine_topology(root, &topology);
    CHECK_STR(topology.cpu, "Made Up(R) 9000");
    CHECK_INT(topology.n_cpus, 4);
    CHECK_INT(topology.n_cores, 2);
    CHECK_INT(topology.n_sockets, 2);
    CHECK_INT(topology.n_nodes, 2);
    machine_topology_text(&topology, text, sizeof text);
    CHECK_STR(text, "2 sockets, 2 cores, 4 threads, 2 memory nodes");
    machine_caches_text(&topology, text, sizeof text);
    CHECK_STR(
        text,
        "L1d 32.0 KiB x2, L1i 64.0 KiB x2, L2 1.0 MiB x2, L3 16.0 MiB x2");
    CHECK_INT(machine_last_level(&topology), 3);
}

TEST(threads_share_the_caches_of_their_cores)
{
    const char *root = test_path("shared");
    struct machine_topology topology;

    made_sockets(root);
    machine_topology(root, &topology);
    CHECK_INT(machine_cache_bytes(&topology, 2, 1), 1 << 20);
    CHECK_INT(machine_cache_bytes(&topology, 2, 4), 2 << 20);
    CHECK_INT(machine_cache_bytes(&topology, 1, 4), 64 << 10);
    CHECK_INT(machine_cache_bytes(&topology, 4, 4), 0);
}

TEST(a_machine_without_information_is_unknown)
{
    const char *root = test_path("nothing");
    struct machine_topology topology;
    struct machine_state now;
    struct machine_ticks ticks;
    char text[64];

    machine_topology(root, &topology);
    CHECK_INT(topology.n_cpus, 0);
    CHECK_INT(topology.n_caches, 0);
    CHECK_INT(machine_last_level(&topology), 0);
    machine_topology_text(&topology, text, sizeof text);
    CHECK_STR(text, "");
    machine_state(root, &now);
    CHECK(isnan(now.mhz) && isnan(now.max_mhz) && isnan(now.load));
    CHECK(isnan(now.pressure) && isnan(now.throttled));
    CHECK(isnan(now.memory_bytes) && isnan(now.available_bytes));
    CHECK_STR(now.governor, "");
    CHECK(!machine_ticks(root, &ticks));
}

TEST(odd_files_are_ignored)
{
    const char *root = test_path("odd");
    struct machine_topology topology;
    struct machine_state now;

    made_file(root, MADE_CPU "online", "0\n");
    made_cache(root, 0, 0, "1\n", "Data\n", "huge\n", "0\n");
    made_cache(root, 0, 1, "2\n", "Unified\n", "0K\n", "0\n");
    made_cache(root, 0, 2, "2\n", "Unified\n", "99999999999999999999K\n",
               "0\n");
    made_cache(root, 0, 3, "3\n", "Unified\n", "8M\n", "0\n");
    made_cache(root, 0, 4, "77\n", "Unified\n", "8M\n", "0\n");
    made_file(root, "proc/loadavg", "busy\n");
    made_file(root, "proc/pressure/cpu", "some avg10=nan\n");
    machine_topology(root, &topology);
    CHECK_INT(topology.n_caches, 1);
    CHECK_INT(topology.caches[0].bytes, 8 << 20);
    CHECK_STR(topology.cpu, "");
    machine_state(root, &now);
    CHECK(isnan(now.load) && isnan(now.pressure));
}

TEST(the_state_is_read_from_the_kernel)
{
    const char *root = test_path("state");
    struct machine_state now;
    struct machine_ticks ticks;

    made_file(root, MADE_CPU "online", "0-1\n");
    made_file(root, MADE_CPU "cpu0/cpufreq/scaling_cur_freq", "1800000\n");
    made_file(root, MADE_CPU "cpu1/cpufreq/scaling_cur_freq", "2200000\n");
    made_file(root, MADE_CPU "cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
    made_file(root, MADE_CPU "cpu0/cpufreq/scaling_governor", "powersave\n");
    made_file(root, MADE_CPU "cpu0/thermal_throttle/core_throttle_count",
              "3\n");
    made_file(root, MADE_CPU "cpu1/thermal_throttle/core_throttle_count",
              "4\n");
    made_file(root, "proc/loadavg", "1.25 0.50 0.30 2/99 4242\n");
    made_file(root, "proc/pressure/cpu",
              "some avg10=12.50 avg60=1.00 avg300=0.00 total=99\n");
    made_file(root, "proc/meminfo",
              "MemTotal:    2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n");
    made_file(root, "proc/stat",
              "cpu  100 10 40 800 50 0 0 7 0 0\ncpu0 1 1 1 1\n");
    machine_state(root, &now);
    CHECK_NEAR(now.mhz, 2000, 1e-9);
    CHECK_NEAR(now.max_mhz, 3500, 1e-9);
    CHECK_NEAR(now.throttled, 7, 0);
    CHECK_STR(now.governor, "powersave");
    CHECK_NEAR(now.load, 1.25, 1e-9);
    CHECK_NEAR(now.pressure, 0.125, 1e-9);
    CHECK_NEAR(now.memory_bytes, 2 << 20, 0);
    CHECK_NEAR(now.available_bytes, 1 << 20, 0);
    CHECK(machine_ticks(root, &ticks));
    CHECK_INT(ticks.all, 1007);
    CHECK_INT(ticks.busy, 157); /* neither idle nor waiting for a disk */
}

/* ---- sensors and counters --------------------------------------------- */

static int counter_opens(void)
{
    return 0;
}

static int counter_is_forbidden(void)
{
    return EACCES;
}

static int counter_is_not_there(void)
{
    return ENOENT;
}

static void check_missing(const struct machine_offers *offers, const char *want)
{
    struct str line = {0};

    CHECK_INT(machine_missing(offers, &line), 0);
    CHECK_STR(str_text(&line), want);
    str_release(&line);
}

TEST(nothing_is_missing_if_everything_is_available)
{
    const char *root = test_path("all");
    struct machine_offers offers;

    made_file(root, "sys/class/powercap/intel-rapl:0/energy_uj", "123\n");
    made_file(root, MADE_CPU "cpu0/cpufreq/scaling_cur_freq", "1800000\n");
    made_file(root, MADE_CPU "cpu0/thermal_throttle/core_throttle_count",
              "0\n");
    machine_offers(root, counter_opens, &offers);
    CHECK(offers.counters.is_there && offers.energy.is_there);
    CHECK(offers.frequency.is_there && offers.throttling.is_there);
    check_missing(&offers, "");
}

TEST(what_is_missing_is_named_with_advice)
{
    const char *root = test_path("none");
    struct machine_offers offers;

    made_file(root, "proc/sys/kernel/perf_event_paranoid", "3\n");
    machine_offers(root, counter_is_forbidden, &offers);
    check_missing(
        &offers,
        "hardware counters (not allowed, perf_event_paranoid is 3: sysctl "
        "kernel.perf_event_paranoid=1); energy (no RAPL sensor: bare metal has "
        "one); frequency, throttling (kept by the host)");
    machine_offers(root, counter_is_not_there, &offers);
    CHECK(!offers.counters.is_there);
    CHECK_HAS(offers.counters.way, "virtual");
}

TEST(an_unreadable_sensor_says_who_may_read_it)
{
    const char *root = test_path("rapl");
    struct machine_offers offers;

    made_file(root, "sys/class/powercap/intel-rapl:0/energy_uj", "");
    machine_offers(root, counter_opens, &offers);
    CHECK(!offers.energy.is_there);
    CHECK_HAS(offers.energy.way, "chmod");
}
