/* Tests in PyTorch, seen from this program: a script stands in for Python. */
#include "predict/torch_runner.h"

#include "campaign_case.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct error err;

/* ---- the answer ---------------------------------------------------------- */

static enum assay_status read_answer(const char *text, struct torch_answer *out)
{
    err = (struct error){0};
    return torch_answer_read(text, strlen(text), out, &err);
}

TEST(an_answer_has_the_numbers_and_names_of_a_test)
{
    struct torch_answer answer;

    CHECK_STATUS(read_answer("status ok\nlatency_ms 12.5\nused_mb 300\n"
                             "capacity_mb 2000\nmachine NVIDIA H200\n"
                             "library PyTorch 2.11\nn_steps 3\n"
                             "steps_ms 12.5 13 14\nnews from_later 7\n",
                             &answer),
                 ASSAY_OK, &err);
    CHECK_INT(answer.status, ASSAY_OK);
    CHECK_NEAR(answer.result.latency_ms, 12.5, 0);
    CHECK_NEAR(answer.result.used_mb, 300, 0);
    CHECK_NEAR(answer.result.capacity_mb, 2000, 0);
    CHECK_STR(answer.result.machine, "NVIDIA H200");
    CHECK_STR(answer.library, "PyTorch 2.11");
    CHECK_INT(answer.result.n_steps, 3);
    CHECK_NEAR(answer.result.steps_ms[2], 14, 0);
}

TEST(an_answer_that_makes_no_sense_is_refused_or_counts_as_nothing)
{
    struct torch_answer answer;

    CHECK_INT(read_answer("", &answer), ASSAY_BAD_INPUT);
    CHECK_INT(read_answer("Traceback (most recent call last)\n", &answer),
              ASSAY_BAD_INPUT);
    CHECK_INT(read_answer("status perhaps\n", &answer), ASSAY_BAD_INPUT);
    CHECK_STATUS(read_answer("status ok\nlatency_ms -1\nused_mb nan\n"
                             "alloc_mb 1e999\nsteps_ms 1 x 2",
                             &answer),
                 ASSAY_OK, &err);
    CHECK_NEAR(answer.result.latency_ms, 0, 0);
    CHECK_NEAR(answer.result.used_mb, 0, 0);
    CHECK_NEAR(answer.result.alloc_mb, 0, 0);
    CHECK_NEAR(answer.result.steps_ms[2], 2, 0);
}

TEST(python_code_is_told_from_files_and_models)
{
    CHECK(torch_is_source("my_models.py:make_net"));
    CHECK(torch_is_source("some where/my.models.py:Net2"));
    CHECK(!torch_is_source("my_models.py"));
    CHECK(!torch_is_source("my_models.py:"));
    CHECK(!torch_is_source("resnet18"));
    CHECK(!torch_is_source("C:resnet18"));
    CHECK(!torch_is_source("a.py:b/c.onnx"));
    CHECK(!torch_is_source(":x"));
}

/* ---- a test in a process of its own -------------------------------------- */

static const char network[] =
    "assay-net 1\nmodel own Net\nmodule fc Linear\n"
    "input images float32 ?x3x4x4\n"
    "parameter fc.weight float32 2x48 normal 0.2\n"
    "parameter fc.bias float32 2 zero\n"
    "%0 = Flatten(images)\n%1 = Linear(%0, fc.weight, fc.bias) in fc\n"
    "output y %1\n";

/* A script in the place of Python: $line is where its answer goes, $net the
 * network, and `all` has what it is asked for. It does one thing as it starts,
 * and another for every test, or for a network to export. */
static const char *make_host(const char *start, const char *body)
{
    static char path[512];
    char text[2048];

    snprintf(path, sizeof path, "%s", test_path("python.sh"));
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase $* in *-m*--line*) ;; *) exit 9 ;; esac\n"
             "all=\"$*\"\nwhile [ $1 != --line ]; do shift; done\nline=$2\n"
             "say() { { printf \"$1\"; head -c %d /dev/zero; } | head -c %d "
             ">&$line; }\nact() {\n%s\n}\n"
             "case $all in *net_export*) act; exit ;; esac\n%s\n"
             "while all=$(head -c %d <&$line | tr '\\n' ' ' | tr -d '\\0')\n"
             "[ \"$all\" ]; do\nset -- $all\n"
             "while [ $# -gt 0 ]; do case $1 in --net) net=$2 ;; esac; shift; "
             "done\nact\ndone\n",
             TORCH_ANSWER_BYTES, TORCH_ANSWER_BYTES, body, start,
             TORCH_ANSWER_BYTES);
    case_write(path, text);
    CHECK_INT(chmod(path, 0755), 0);
    return path;
}

static const char *make_python(const char *body)
{
    return make_host("say 'status ok\\n'", body);
}

static size_t count_left_folders(void)
{
    DIR *open = opendir(test_path(""));
    const struct dirent *entry;
    size_t n = 0;

    CHECK(open != NULL);
    while ((entry = readdir(open)))
        n += strncmp(entry->d_name, "assay-torch-", 12) == 0;
    closedir(open);
    return n;
}

static struct campaign_result try_again(struct torch_runner *runner,
                                        double seconds)
{
    struct campaign_limits limits = {.seconds = seconds,
                                     .memory_bytes = (size_t)256 << 20,
                                     .n_threads = 3,
                                     .torch = runner};
    struct campaign_test test = {.network = "own",
                                 .file = test_path("own_0.net"),
                                 .batch = 8,
                                 .framework = FRAMEWORK_TORCH,
                                 .stage = STAGE_INFERENCE,
                                 .target = TARGET_MEMORY};
    struct campaign_result result;

    CHECK_INT(setenv("TMPDIR", test_path(""), 1), 0);
    err = (struct error){0};
    CHECK_STATUS(campaign_try(&test, &limits, &result, &err), ASSAY_OK, &err);
    return result;
}

static struct campaign_result try_in_torch(const char *python, double seconds)
{
    struct torch_runner runner = {.python = python, .package = "/a/package"};
    struct campaign_result result;

    case_write(test_path("own_0.net"), network);
    result = try_again(&runner, seconds);
    torch_rest(&runner);
    CHECK_INT(count_left_folders(), 0);
    return result;
}

TEST(a_test_in_torch_gets_the_network_with_its_weights_and_its_limits)
{
    struct campaign_result result = try_in_torch(
        make_python("grep -q '^weights network.safetensors' $net &&\n"
                    "test -s ${net%.net}.safetensors &&\n"
                    "test \"${PYTHONPATH%%:*}\" = /a/package &&\n"
                    "case $all in\n"
                    "'--seconds 60 '*'--batch 8 --stage inference "
                    "--variable memory --device cpu --threads 3 --memory-mb "
                    "256 ') say 'status ok\\nused_mb 12.5\\n' ;;\nesac"),
        60);

    if (!result.is_passed)
        print_error("%s\n", result.reason);
    CHECK(result.is_passed);
    CHECK_NEAR(result.used_mb, 12.5, 0);
    CHECK_NEAR(result.lane, 0, 0); /* that is of our own kernels */
    CHECK_NEAR(result.capacity_mb, 256, 0);
    CHECK(result.machine[0]);
}

TEST(a_test_in_torch_that_fails_says_why)
{
    struct campaign_result result =
        try_in_torch(make_python("say 'status nomem\\nreason x\\n'"), 60);

    CHECK(campaign_is_nomem(&result));
    CHECK_HAS(result.reason, "out of memory at a limit of 256 MiB");
    result = try_in_torch(
        make_python("say 'status failed\\nreason the op Loop cannot be built "
                    "in PyTorch yet\\n'"),
        60);
    CHECK(!result.is_passed && !campaign_is_nomem(&result));
    CHECK_STR(result.reason, "the op Loop cannot be built in PyTorch yet");
    result = try_in_torch(make_python("kill -9 $$"), 60);
    CHECK_HAS(result.reason, "killed by signal 9");
    result = try_in_torch(make_python("exit 7"), 60);
    CHECK_HAS(result.reason, "ended with code 7");
    result = try_in_torch(make_python("say 'status late\\n'"), 0.25);
    CHECK_HAS(result.reason, "no answer within 0.25 s");
    result = try_in_torch(make_python("say 'status ended\\nsignal 11\\n'"), 60);
    CHECK_HAS(result.reason, "killed by signal 11");
    result = try_in_torch(make_python("say 'status ended\\ncode 3\\n'"), 60);
    CHECK_HAS(result.reason, "ended with code 3");
    result = try_in_torch(make_python("say 'Traceback'"), 60);
    CHECK_HAS(result.reason, "cannot read Python's answer");
    result = try_in_torch(make_host("exec sleep 600", ":"), 0.2);
    CHECK_HAS(result.reason, "no answer within 0.2 s");
    result = try_in_torch("/no/such/python", 60);
    CHECK_HAS(result.reason, "cannot start /no/such/python (No such file");
}

TEST(all_tests_in_torch_are_asked_of_one_python_until_it_ends)
{
    struct torch_runner runner = {.package = "/a/package"};
    struct campaign_result result;

    case_write(test_path("own_0.net"), network);
    runner.python =
        make_host("say 'status ok\\n'",
                  "n=$((n+1))\n[ $n -lt 3 ] || kill -9 $$\n"
                  "say \"status ok\\nused_mb $n\\nlatency_ms $$\\n\"");
    result = try_again(&runner, 60);
    CHECK_NEAR(result.used_mb, 1, 0);
    CHECK_INT(count_left_folders(), 1); /* the next test needs it again */
    CHECK_NEAR(try_again(&runner, 60).latency_ms, result.latency_ms, 0);
    CHECK_HAS(try_again(&runner, 60).reason, "killed by signal 9");
    CHECK_NEAR(try_again(&runner, 60).used_mb, 1, 0); /* of another one */
    torch_rest(&runner);
    CHECK_INT(count_left_folders(), 0);
}

TEST(a_network_that_cannot_be_read_fails_its_test_alone)
{
    struct torch_runner runner = {.package = "/a/package"};
    struct campaign_result result;

    runner.python = make_python("say 'status ok\\nused_mb 1\\n'");
    case_write(test_path("own_0.net"), "no network\n");
    result = try_again(&runner, 60);
    CHECK(!result.is_passed && result.reason[0]);
    CHECK_INT(count_left_folders(), 0);
    case_write(test_path("own_0.net"), network);
    CHECK(try_again(&runner, 60).is_passed);
    torch_rest(&runner);
}

/* ---- before the first test ----------------------------------------------- */

static enum assay_status check_python(const char *python,
                                      struct campaign_place *place)
{
    struct torch_runner runner = {.python = python, .package = "/a/package"};

    enum assay_status st;

    err = (struct error){0};
    st = campaign_find_torch(&runner, "cuda:1", place, &err);
    torch_rest(&runner);
    return st;
}

TEST(the_machine_of_tests_in_torch_is_what_pytorch_says)
{
    struct campaign_place place;

    CHECK_STATUS(check_python(make_python("case $all in *'--check --device "
                                          "cuda:1 ') say 'status ok\\nmachine "
                                          "NVIDIA H200\\nlibrary PyTorch "
                                          "2.11\\n' ;; esac"),
                              &place),
                 ASSAY_OK, &err);
    CHECK_STR(place.device, "cuda:1");
    CHECK_STR(place.machine, "NVIDIA H200");
    CHECK_STR(place.library, "PyTorch 2.11");
}

TEST(a_python_that_cannot_serve_is_refused_with_the_way_out)
{
    struct campaign_place place;

    CHECK_INT(check_python("/no/such/python", &place), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot start /no/such/python (No such file or "
                        "directory); --python names the interpreter");
    CHECK_INT(check_python(make_host("exit 1", ":"), &place),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot run the package assay; PYTHONPATH=/a/package");
    CHECK_INT(check_python(make_python("exit 1"), &place), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot run the package assay; PYTHONPATH=/a/package");
    CHECK_INT(check_python(make_python("say 'status failed\\nreason it has no "
                                       "PyTorch\\n'"),
                           &place),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "it has no PyTorch");
}

/* ---- networks given as Python -------------------------------------------- */

static enum assay_status make_from_python(const char *python)
{
    struct torch_runner runner = {.python = python, .package = "/a/package"};
    struct campaign_config config;
    enum assay_status st;
    char text[1024];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['%s:make_net']\n"
             "pruning_perc= [0]\nmodel_path= %s\n",
             test_path("models.py"), test_path("nets"));
    case_read("net.ini", text, &config);
    CHECK(campaign_config_needs_python(&config));
    config.torch = python ? &runner : NULL;
    err = (struct error){0};
    st = campaign_make_networks(&config, NULL, &err);
    campaign_config_release(&config);
    return st;
}

TEST(a_network_in_python_needs_its_file_and_a_python)
{
    CHECK_INT(make_from_python("/no/such/python"), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "models.py: No such file");
    case_write(test_path("models.py"), "");
    CHECK_INT(make_from_python(NULL), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "written in Python");
    CHECK_INT(make_from_python("/no/such/python"), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "cannot start /no/such/python");
    CHECK_INT(make_from_python(make_python("say 'status failed\\nreason "
                                           "models.py has no make_net\\n'")),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "models.py has no make_net");
}
