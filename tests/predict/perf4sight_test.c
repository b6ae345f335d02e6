/* tests/predict/perf4sight_test.c - reading the profiles of perf4sight. */
#include "predict/perf4sight.h"

#include "base/mem.h"
#include "predict/network_folder.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char latency_text[] =
    "passed|latency|test_var|bs|dataset|net_name|model\n"
    "True|102.5|latency|2|imagenet|tiny|/home/nvidia/models/tiny_30.py\n"
    "True|164.25|latency|4|imagenet|tiny|/home/nvidia/models/tiny_30.py\n"
    "False|0|latency|512|imagenet|tiny|/home/nvidia/models/tiny_30.py\n";

static const char memory_text[] =
    "passed|mem_alloc|mem_reserved|mem_used|mem_avail|free|capacity|test_var|"
    "bs|dataset|net_name|model\n"
    "True|179.7|203.2|1629.0|7175.5|5103.0|7859.0|memory|2|imagenet|tiny|x\n"
    "False|1|1|3.0|7175.5|5103.0|7859.0|memory|512|imagenet|tiny|x\n";

static const char layers[] =
    "network,prune,ic,oc,kh,kw,sh,sw,ph,pw,groups,ih,iw,bias\n"
    "tiny,30,3,8,3,3,2,2,1,1,1,32,32,1\n";
static const char networks[] =
    "network,prune,total_params,bn_params,n_param_tensors,fc_layers,"
    "saved_act_bytes_per_image\n"
    "tiny,30,1234,32,8,8x10,4096\n";
static const char ops[] =
    "network,prune,relu_elems,n_relu,bn_elems,n_bn,cat_elems,n_cat,add_elems,"
    "n_add,maxpool_in,maxpool_out,maxpool_taps,n_maxpool,avgpool_in,"
    "n_avgpool\n"
    "tiny,30,10,1,20,2,0,0,30,3,40,5,45,1,60,1\n";

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void describe_tiny(const char *folder)
{
    write_file(folder, "layers.csv", layers);
    write_file(folder, "networks.csv", networks);
    write_file(folder, "network_ops.csv", ops);
}

/* FOLDER/latency and FOLDER/memory, as in its repository. */
static const char *make_profiles(const char *name)
{
    static char folder[400];
    char part[450];

    snprintf(folder, sizeof folder, "%s", test_path(name));
    mkdir(folder, 0700);
    snprintf(part, sizeof part, "%s/latency", folder);
    write_file(part, "tiny_30-gt.csv", latency_text);
    /* Rows that its authors did not keep are in files of other names. */
    write_file(part, "tiny_30.csv", "passed|latency|params\n");
    snprintf(part, sizeof part, "%s/memory", folder);
    write_file(part, "tiny_30-gt.csv", memory_text);
    return folder;
}

TEST(profiles_of_a_described_network_become_rows)
{
    const char *folder = make_profiles("profiles");
    struct data_set set = {0};
    struct error err = {0};

    describe_tiny(folder);
    CHECK(perf4sight_is_folder(folder));
    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 5);
    CHECK_INT(set.n_undescribed, 0);
    CHECK_NEAR(set.rows[0].value[TARGET_LATENCY], 102.5, 0);
    CHECK(isnan(set.rows[0].value[TARGET_MEMORY]));
    CHECK_INT(set.rows[0].stage, STAGE_TRAINING);
    CHECK_INT((int)set.rows[1].batch, 4);
    CHECK(isnan(set.rows[2].value[TARGET_LATENCY]));
    CHECK(!set.rows[2].is_failed); /* only memory says that it did not fit */
    CHECK_NEAR(set.rows[3].value[TARGET_MEMORY], 1629, 0);
    CHECK(isnan(set.rows[4].value[TARGET_MEMORY]) && set.rows[4].is_failed);
    CHECK_NEAR(set.capacity_mb, 7859, 0);
    CHECK_NEAR(set.available_mb, 7175.5, 0);
    CHECK_INT(set.descriptions[set.rows[0].description].level, 30);
    data_set_release(&set);
}

TEST(another_folder_may_describe_the_networks_whichever_is_named_first)
{
    char profiles[512], described[512];
    const char *folders[] = {profiles, described};
    struct data_set set = {0};
    struct error err = {0};

    snprintf(profiles, sizeof profiles, "%s", make_profiles("apart"));
    snprintf(described, sizeof described, "%s", test_path("described"));
    describe_tiny(described);
    write_file(described, "measurements.csv",
               "network,prune,batch,stage,lat_passed,mem_passed,latency_ms,"
               "mem_used_mb\n");
    CHECK_STATUS(data_set_read_all(&set, folders, 2, NULL, &err), ASSAY_OK,
                 &err);
    CHECK_INT(set.n_rows, 5);
    data_set_release(&set);
}

TEST(networks_that_nothing_describes_are_counted_and_named)
{
    const char *folder = make_profiles("undescribed");
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 0);
    CHECK_INT(set.n_undescribed, 5);
    CHECK_STR(str_text(&set.undescribed), "tiny 30");
    data_set_release(&set);
}

TEST(a_folder_with_measurements_is_not_one_of_perf4sight)
{
    const char *folder = make_profiles("both");

    write_file(folder, "measurements.csv", "network\n");
    CHECK(!perf4sight_is_folder(folder));
    CHECK(!perf4sight_is_folder(test_path("nothing")));
}

static void refuse(const char *name, const char *text, const char *why)
{
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(perf4sight_read_text(&set, name, text, strlen(text), &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_STR(err.text, why);
    data_set_release(&set);
}

TEST(what_is_wrong_with_a_profile_is_said_with_its_line)
{
    refuse("tiny-gt.csv", latency_text,
           "tiny-gt.csv: a profile is called NETWORK_LEVEL-gt.csv, with a "
           "level of 0 to 100");
    refuse("tiny_300-gt.csv", latency_text,
           "tiny_300-gt.csv: a profile is called NETWORK_LEVEL-gt.csv, with a "
           "level of 0 to 100");
    refuse("tiny_3-gt.csv", "passed|bs\n",
           "tiny_3-gt.csv: neither a column 'latency' nor 'mem_used'");
    refuse("tiny_3-gt.csv", "passed,latency,bs\n",
           "tiny_3-gt.csv: no column 'passed'");
    refuse("tiny_3-gt.csv", "passed|latency|bs\nyes|1|2\n",
           "tiny_3-gt.csv line 2, column passed: 'yes' is neither True nor "
           "False");
    refuse("tiny_3-gt.csv", "passed|latency|bs\nTrue|1|0\n",
           "tiny_3-gt.csv line 2, column bs: 0 is not from 1 to 1048576");
    refuse("tiny_3-gt.csv", "passed|latency|bs|net_name\nTrue|1|2|other\n",
           "tiny_3-gt.csv line 2 is about other, its file about tiny");
    refuse("tiny_3-gt.csv", "passed|latency|bs|stage\nTrue|1|2|resting\n",
           "tiny_3-gt.csv line 2, column stage: 'resting' is neither training "
           "nor inference");
}

TEST(reading_profiles_leaks_nothing_whichever_allocation_fails)
{
    const char *folder = make_profiles("failing");
    enum assay_status st = ASSAY_NOMEM;
    long before = mem_live();

    describe_tiny(folder);
    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        struct data_set set = {0};

        mem_fail_at(nth);
        st = perf4sight_read(&set, folder, NULL);
        mem_fail_at(-1);
        data_set_release(&set);
        CHECK_INT(mem_live(), before);
    }
    CHECK_INT(st, ASSAY_OK);
}
