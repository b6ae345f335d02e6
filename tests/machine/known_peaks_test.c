/* tests/machine/known_peaks_test.c - the stored peaks of a machine, and what
 * a run is told. */
#include "made_machine.h"

#include "base/file.h"
#include "base/processor.h"

#include <math.h>
#include <string.h>

static struct error err;

static struct known_peaks some_peaks(double gflops)
{
    struct known_peaks known = {
        .peaks = {.gflops = gflops,
                  .read_gbs = 20.5,
                  .write_gbs = 10,
                  .copy_gbs = NAN,
                  .launch_ns = 3100,
                  .caches = {{2, 4194304, 180.5}, {3, 16777216, 60}},
                  .n_caches = 2},
        .busy = 0.25,
        .when = "2026-11-15T12:00:00Z"};

    return known;
}

TEST(stored_peaks_are_read_back_unchanged)
{
    const char *path = test_path("deep/below/machine.txt");
    struct known_peaks known = some_peaks(301.25), found;

    CHECK_STATUS(known_peaks_put(path, "a, 2 threads", &known, &err), ASSAY_OK,
                 &err);
    CHECK(known_peaks_find(path, "a, 2 threads", &found));
    CHECK_NEAR(found.peaks.gflops, 301.25, 1e-9);
    CHECK_NEAR(found.peaks.read_gbs, 20.5, 1e-9);
    CHECK(isnan(found.peaks.copy_gbs));
    CHECK_NEAR(found.peaks.launch_ns, 3100, 1e-9);
    CHECK_NEAR(found.busy, 0.25, 1e-9);
    CHECK_STR(found.when, "2026-11-15T12:00:00Z");
    CHECK_INT(found.peaks.n_caches, 2);
    CHECK_INT(found.peaks.caches[1].level, 3);
    CHECK_NEAR(found.peaks.caches[0].bytes, 4194304, 0);
    CHECK_NEAR(found.peaks.caches[0].gbs, 180.5, 1e-9);
}

TEST(every_machine_and_number_of_threads_has_its_own_peaks)
{
    const char *path = test_path("several.txt");
    struct known_peaks one = some_peaks(1), two = some_peaks(2), found;

    CHECK_INT(known_peaks_put(path, "a, 1 threads", &one, &err), 0);
    CHECK_INT(known_peaks_put(path, "a, 2 threads", &two, &err), 0);
    CHECK(known_peaks_find(path, "a, 1 threads", &found));
    CHECK_NEAR(found.peaks.gflops, 1, 0);
    CHECK(known_peaks_find(path, "a, 2 threads", &found));
    CHECK_NEAR(found.peaks.gflops, 2, 0);
    CHECK(!known_peaks_find(path, "a, 2", &found));
    CHECK(isnan(found.peaks.gflops));
    one.peaks.gflops = 7;
    CHECK_INT(known_peaks_put(path, "a, 1 threads", &one, &err), 0);
    CHECK(known_peaks_find(path, "a, 1 threads", &found));
    CHECK_NEAR(found.peaks.gflops, 7, 0);
    CHECK(known_peaks_find(path, "a, 2 threads", &found));
}

TEST(a_damaged_file_is_measured_again_and_replaced)
{
    static const char *const damaged[] = {
        "",
        "assay machine peaks 1",
        "something else\nkey\tgflops=1\n",
        "assay machine peaks 1\nkey\tgflops\n",
        "assay machine peaks 1\nkey\tgflops=fast\n",
        "assay machine peaks 1\nkey\tgflops=-3\n",
        "assay machine peaks 1\nkey\tgflops=inf\n",
        "assay machine peaks 1\nkey\tl2=7\n",
        "assay machine peaks 1\nkey\tl2=7:0\n",
        "assay machine peaks 1\nkey\tl1=1:1\tl2=1:1\tl3=1:1\tl4=1:1\n",
        "assay machine peaks 1\nkey\tgflops=1"};
    struct known_peaks known = some_peaks(5), found;

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        const char *path = test_path("damaged.txt");

        made_file(test_path(""), "damaged.txt", damaged[i]);
        CHECK(!known_peaks_find(path, "key", &found));
        CHECK(isnan(found.peaks.gflops));
        CHECK_INT(known_peaks_put(path, "key", &known, &err), 0);
        CHECK(known_peaks_find(path, "key", &found));
        CHECK_NEAR(found.peaks.gflops, 5, 0);
    }
    CHECK(!known_peaks_find(test_path("nowhere.txt"), "key", &found));
}

TEST(names_of_a_later_version_are_ignored)
{
    struct known_peaks found;

    made_file(test_path(""), "later.txt",
              "assay machine peaks 1\nkey\tgflops=9\ttensor_tflops=2\n");
    CHECK(known_peaks_find(test_path("later.txt"), "key", &found));
    CHECK_NEAR(found.peaks.gflops, 9, 0);
}

TEST(the_better_of_two_measurements_is_kept)
{
    struct known_peaks into = some_peaks(100), from = some_peaks(90);

    from.peaks.read_gbs = 30;
    from.peaks.copy_gbs = 12;
    from.peaks.launch_ns = 2000;
    from.peaks.caches[0].gbs = 200;
    from.peaks.caches[1].gbs = 50;
    known_peaks_join(&into, &from);
    CHECK_NEAR(into.peaks.gflops, 100, 0);
    CHECK_NEAR(into.peaks.read_gbs, 30, 0);
    CHECK_NEAR(into.peaks.copy_gbs, 12, 0);
    CHECK_NEAR(into.peaks.launch_ns, 2000, 0);
    CHECK_NEAR(into.peaks.caches[0].gbs, 200, 0);
    CHECK_NEAR(into.peaks.caches[1].gbs, 60, 0);
}

TEST(a_key_names_processor_threads_and_library)
{
    struct machine_topology topology = {.cpu = "Made Up", .n_cpus = 8};
    char key[320];

    processor_limit(PROCESSOR_SSE41);
    machine_key(&topology, 4, &device_portable, key, sizeof key);
    CHECK_STR(key, "Made Up, SSE4.1, 8 processors, 4 threads, portable");
}

TEST(peaks_measured_under_one_limit_are_not_used_under_another)
{
    struct machine_topology topology = {.cpu = "Made Up", .n_cpus = 8};
    char limited[320], plain[320];

    processor_limit(PROCESSOR_SSE41);
    machine_key(&topology, 4, &device_portable, limited, sizeof limited);
    processor_limit(PROCESSOR_PLAIN);
    machine_key(&topology, 4, &device_portable, plain, sizeof plain);
    CHECK(strcmp(limited, plain) != 0);
}

TEST(a_run_gets_only_known_facts)
{
    struct machine machine = {.known = some_peaks(301.25), .n_threads = 2};
    struct run *run;
    struct peaks peaks;

    machine_topology(test_path("nothing"), &machine.topology);
    machine_state(test_path("nothing"), &machine.state);
    machine.offers.counters.is_there = machine.offers.energy.is_there = true;
    machine.offers.frequency.is_there = machine.offers.throttling.is_there =
        true;
    CHECK_INT(run_new(&run, &err), 0);
    CHECK_STATUS(machine_set_facts(&machine, run, &err), ASSAY_OK, &err);
    CHECK_STR(run_fact(run, "machine.peak_gflops"), "301.25");
    CHECK_STR(run_fact(run, "machine.launch_us"), "3.1");
    CHECK(run_fact(run, "machine.copy_gbs") == NULL);
    CHECK(run_fact(run, "machine.topology") == NULL);
    CHECK(run_fact(run, "machine.load") == NULL);
    CHECK(run_fact(run, "machine.missing") == NULL);
    peaks = peaks_of_facts(run);
    CHECK_NEAR(peaks.gflops, 301.25, 1e-9);
    CHECK_NEAR(peaks.launch_ns, 3100, 1e-6);
    CHECK_INT(peaks.n_caches, 2);
    CHECK_NEAR(peaks.caches[1].gbs, 60, 1e-9);
    run_free(run);
}

TEST(peaks_are_measured_once_and_stored)
{
    const char *root = test_path("looked");
    const char *path = test_path("looked.txt");
    struct machine_options options = {.root = root,
                                      .device = &device_portable,
                                      .n_threads = 1,
                                      .measuring = MACHINE_CACHED,
                                      .seconds = 0.01,
                                      .path = path};
    struct machine machine;
    double gflops;

    made_sockets(root);
    CHECK_STATUS(machine_look(&options, &machine, &err), ASSAY_OK, &err);
    CHECK(!machine.is_cached && isnan(machine.known.peaks.gflops));
    options.measuring = MACHINE_NEEDED;
    CHECK_STATUS(machine_look(&options, &machine, &err), ASSAY_OK, &err);
    CHECK(!machine.is_cached);
    gflops = machine.known.peaks.gflops;
    CHECK(gflops > 0 && machine.known.peaks.launch_ns > 0);
    CHECK_STR(machine.topology.cpu, "Made Up(R) 9000");
    CHECK_STATUS(machine_look(&options, &machine, &err), ASSAY_OK, &err);
    CHECK(machine.is_cached);
    CHECK_NEAR(machine.known.peaks.gflops, gflops, gflops * 1e-5);
    options.measuring = MACHINE_AGAIN;
    CHECK_STATUS(machine_look(&options, &machine, &err), ASSAY_OK, &err);
    CHECK(!machine.is_cached);
}

TEST(what_a_gpu_was_measured_to_do_is_known_for_each_precision)
{
    static struct space space = {.name = "far"};
    const struct device device = {
        .name = "far:0", .space = &space, .backend = device_portable.backend};
    const struct device_peaks best = {.fp32_gflops = 50,
                                      .tf32_gflops = 400,
                                      .fp16_gflops = 800,
                                      .copy_gbs = 4000};
    struct machine_options options = {.root = test_path("gpu"),
                                      .device = &device,
                                      .n_threads = 1,
                                      .measuring = MACHINE_CACHED,
                                      .path = test_path("gpu.txt")};
    const double wanted[] = {[PRECISION_AUTO] = 400,
                             [PRECISION_FP32] = 50,
                             [PRECISION_TF32] = 400,
                             [PRECISION_FP16] = 800,
                             [PRECISION_BF16] = 800};
    struct machine machine;

    made_sockets(options.root);
    machine_keep_device(&options, &best);
    options.n_threads = 7; /* of the host, whatever they are */
    for (int i = PRECISION_AUTO; i <= PRECISION_BF16; i++) {
        options.precision = (enum precision)i;
        CHECK_STATUS(machine_look(&options, &machine, &err), ASSAY_OK, &err);
        CHECK(machine.is_cached);
        CHECK_NEAR(machine.known.peaks.gflops, wanted[i], 1e-3);
        CHECK_NEAR(machine.known.peaks.copy_gbs, 4000, 1e-3);
    }
}
