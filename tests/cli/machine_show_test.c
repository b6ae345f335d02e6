/* tests/cli/machine_show_test.c - a made-up machine on the screen. */
#include "base/json.h"
#include "cli/machine_show.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;

static struct machine made_machine(void)
{
    return (struct machine){.topology = {.cpu = "Made Up(R) 9000",
                                         .n_cpus = 4,
                                         .n_cores = 2,
                                         .n_sockets = 1,
                                         .n_nodes = 1,
                                         .caches = {{1, false, 32 << 10, 2},
                                                    {2, false, 1 << 20, 2}},
                                         .n_caches = 2},
                            .state = {.mhz = 2000,
                                      .max_mhz = 3500,
                                      .governor = "powersave",
                                      .throttled = 3,
                                      .load = 1.25,
                                      .pressure = 0.5,
                                      .memory_bytes = 0x1p33,
                                      .available_bytes = 0x1p32},
                            .offers = {.counters = {.is_there = true},
                                       .energy = {.way = "no sensor"},
                                       .frequency = {.is_there = true},
                                       .throttling = {.is_there = true}},
                            .known = {.peaks = {.gflops = 300,
                                                .read_gbs = 20,
                                                .write_gbs = 12,
                                                .copy_gbs = 15,
                                                .launch_ns = 2500,
                                                .caches = {{2, 1 << 21, 150}},
                                                .n_caches = 1},
                                      .busy = 0.02,
                                      .when = "2026-11-15T12:00:00Z"},
                            .n_threads = 2,
                            .is_cached = true};
}

static const struct machine_devices devices = {
    .items = {{"cpu", "oneDNN 2.6.3"}, {"cuda:0", "cuDNN 9.1"}}, .n = 2};

static struct str screen_of(const struct machine *machine, int width)
{
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct term term = term_plain(width);

    err = (struct error){0};
    CHECK_STATUS(machine_show_screen(machine, &devices, &sink, &term, &err),
                 ASSAY_OK, &err);
    return text;
}

TEST(the_screen_has_parts_state_peaks_and_what_is_missing)
{
    static const char *const lines[] = {
        "machine  Made Up(R) 9000",
        "1 socket, 2 cores, 4 threads, 1 memory node\n",
        "caches   L1d 32.0 KiB x2, L2 1.0 MiB x2\n",
        "memory   8.0 GiB   4.0 GiB of it free\n",
        "devices  cpu with oneDNN 2.6.3   cuda:0 with cuDNN 9.1\n",
        "now      load 1.25   threads waited in 50 % of the last 10 s   2000 "
        "MHz of 3500   governor powersave\n",
        "   throttled 3 times since the start\n",
        "peaks    with 2 threads   measured 2026-11-15T12:00:00Z (--refresh "
        "measures again)\n",
        "\n  compute             300 GFLOP/s   fp32, ",
        "\n  memory read        20.0 GB/s\n",
        "\n  L2 read             150 GB/s      2.0 MiB for 2 threads\n",
        "\n  launch             2.50 us        to start",
        "\n  balance            15.0 FLOP/B    layers with fewer",
        "\nmissing  energy (no sensor)\n"};
    struct machine machine = made_machine();
    struct str text = screen_of(&machine, 100);

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK_HAS(str_text(&text), lines[i]);
    CHECK(!strstr(str_text(&text), "\nnote"));
    str_release(&text);
}

TEST(lines_break_at_the_width_of_the_screen)
{
    struct machine machine = made_machine();

    for (int width = 54; width <= 90; width++) {
        struct str text = screen_of(&machine, width);

        for (const char *at = str_text(&text); *at; at += *at == '\n') {
            size_t n = strcspn(at, "\n");

            CHECK(n <= (size_t)width);
            at += n;
        }
        if (width == 60)
            CHECK_HAS(str_text(&text),
                      "GFLOP/s   fp32, best of several\n                      "
                      "              layers with oneDNN 2.6.3\n");
        str_release(&text);
    }
}

TEST(peaks_measured_on_a_busy_machine_have_a_warning)
{
    struct machine machine = made_machine();
    struct str text;

    machine.known.busy = 0.4;
    text = screen_of(&machine, 100);
    CHECK_HAS(str_text(&text), "note     others took 40 % of the processors");
    str_release(&text);
}

TEST(an_unknown_value_is_a_dash)
{
    struct machine machine = made_machine();
    struct str text;

    machine.known.peaks.gflops = NAN;
    machine.known.peaks.n_caches = 0;
    machine.topology.cpu[0] = '\0';
    machine.topology.n_caches = 0;
    machine.state.max_mhz = NAN;
    text = screen_of(&machine, 100);
    CHECK_HAS(str_text(&text), "machine  - ");
    CHECK_HAS(str_text(&text), "caches   -\n");
    CHECK_HAS(str_text(&text), "2000 MHz of -");
    CHECK_HAS(str_text(&text), "\n  compute               - GFLOP/s");
    CHECK_HAS(str_text(&text), "\n  balance               - FLOP/B");
    str_release(&text);
}

TEST(json_has_the_same_values)
{
    static const char *const parts[] = {
        "\"cpu\": \"Made Up(R) 9000\"",
        "\"processors\": 4",
        "{\"level\": 2, \"is_code\": false, \"bytes\": 1048576, \"count\": 2}",
        "\"pressure\": 0.5",
        "\"gflops\": 300",
        "\"library\": \"oneDNN 2.6.3\"",
        "{\"name\": \"cuda:0\", \"library\": \"cuDNN 9.1\"}",
        "\"launch_us\": 2.5",
        "{\"level\": 2, \"bytes\": 2097152, \"gbs\": 150}",
        "\"is_cached\": true",
        "\"energy\": {\"is_there\": false, \"way\": \"no sensor\"}"};
    struct machine machine = made_machine();
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    err = (struct error){0};
    CHECK_STATUS(machine_show_json(&machine, &devices, &sink, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CHECK_HAS(str_text(&text), parts[i]);
    str_release(&text);
}

/* ---- a GPU --------------------------------------------------------------- */

static struct machine_gpu made_gpu(void)
{
    struct machine_gpu gpu = {.name = "cuda:0",
                              .look = device_look_unknown(),
                              .peaks = {.fp32_gflops = 50000,
                                        .tf32_gflops = 400000,
                                        .fp16_gflops = 700000,
                                        .copy_gbs = 4000}};
    struct device_look *look = &gpu.look;

    snprintf(look->model, sizeof look->model, "Made Up GPU");
    snprintf(look->capability, sizeof look->capability, "9.0");
    snprintf(look->driver, sizeof look->driver, "580.1");
    look->n_units = 100;
    look->memory_bytes = 0x1p37;
    look->mhz = 1900;
    look->max_mhz = 1980;
    look->watts = 400;
    look->knows_throttling = true;
    look->n_others = 2;
    look->others_bytes = 0x1p30;
    look->libraries[0] = (struct device_library){
        .name = "driver", .path = "/lib/libcuda.so.1", .package = "its driver"};
    look->libraries[1] = (struct device_library){
        .name = "CUPTI", .what_for = "times", .package = "pip install it"};
    look->n_libraries = 2;
    return gpu;
}

TEST(a_gpu_has_parts_state_peaks_and_libraries)
{
    static const char *const lines[] = {
        "cuda:0   Made Up GPU   compute capability 9.0   100 multiprocessors",
        "driver 580.1\n",
        ("now      1900 MHz of 1980   400 W   not slowed down   2 other "
         "processes with 1.0 GiB\n"),
        "\n  fp32               50.0 TFLOP/s",
        "\n  memory copy        4.00 TB/s ",
        "\ndriver   /lib/libcuda.so.1\n",
        "\nCUPTI    missing, for times: pip install it\n"};
    struct machine_gpu gpu = made_gpu();
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct term term = term_plain(100);

    machine_gpu_screen(&gpu, &sink, &term);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK_HAS(str_text(&text), lines[i]);
    CHECK(!strstr(str_text(&text), "degrees")); /* unknown */
    str_release(&text);
}

TEST(the_json_of_a_gpu_has_nulls_for_what_is_unknown)
{
    static const char *const parts[] = {
        "\"model\": \"Made Up GPU\"", "\"celsius\": null",
        "\"throttling\": \"\"", "\"tf32_gflops\": 400000",
        "{\"name\": \"CUPTI\", \"path\": null"};
    struct machine_gpu gpu = made_gpu();
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    struct json_writer json = json_writer(&sink, 2);

    machine_gpu_json(&json, &gpu);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CHECK_HAS(str_text(&text), parts[i]);
    str_release(&text);
}
