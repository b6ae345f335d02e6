/* Which tests a campaign has: by the names of its networks' files, and by files
 * of tests. */
#include "predict/campaign.h"

#include "campaign_case.h"
#include "predict/campaign_names.h"
#include "test.h"

#include <stdio.h>

static struct error err;

static void check_split(const struct campaign_config *config, const char *path,
                        const char *network, int64_t level, int64_t repeat)
{
    struct network_file file;

    CHECK(network_file_split(config, path, &file));
    CHECK_STR(file.network, network);
    CHECK_INT(file.level, level);
    CHECK_INT(file.repeat, repeat);
}

TEST(a_file_name_splits_into_network_level_and_repeat_even_with_numbers)
{
    struct campaign_config config;
    struct network_file file;

    case_read("names.ini",
              "[create_network_dataset]\n"
              "networks= ['mine/own_2.onnx']\n"
              "pruning_perc= [0]\nmodel_path= x\n",
              &config);
    check_split(&config, "nets/resnet18_30.net", "resnet18", 30, 0);
    check_split(&config, "nets/resnet18_30_2.net", "resnet18", 30, 2);
    check_split(&config, "resnet18.net", "resnet18", 0, 0);
    check_split(&config, "squeezenet1_1_50.net", "squeezenet1_1", 50, 0);
    check_split(&config, "squeezenet1_1_50_3.net", "squeezenet1_1", 50, 3);
    check_split(&config, "mnasnet1_0.net", "mnasnet1_0", 0, 0);
    check_split(&config, "x/own_2_70.net", "own_2", 70, 0);
    check_split(&config, "foreign_70_1.onnx", "foreign", 70, 1);
    CHECK(!network_file_split(&config, "resnet18_96.net", &file));
    campaign_config_release(&config);
}

TEST(a_file_of_tests_says_what_to_measure_for_its_networks)
{
    struct campaign_config config;
    struct campaign_tests tests = {0};
    char text[512];

    case_write(test_path("list.ini"),
               "[some]\ntest_var= ['memory']\nbs= [8, 2]\n"
               "exec_stage= ['inference']\nmodel= ['nets/resnet18_30.net']\n");
    snprintf(text, sizeof text,
             "[profile]\nlog_dir= logs\nstage= ['training']\n"
             "test_config= %s\n",
             test_path("list.ini"));
    case_read("device.ini", text, &config);
    CHECK_STATUS(campaign_list_tests(&config, &tests, &err), ASSAY_OK, &err);
    CHECK_INT(tests.n, 2);
    CHECK_INT(tests.items[0].batch, 2);
    CHECK_INT(tests.items[1].batch, 8);
    CHECK_INT(tests.items[0].stage, STAGE_INFERENCE);
    CHECK_INT(tests.items[0].target, TARGET_MEMORY);
    CHECK_INT(tests.items[0].level, 30);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

/* The first tests of a list, as NETWORK_LEVELxBATCH. */
static void write_order(const struct campaign_tests *tests, size_t n, char *out,
                        size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(
            out + used, size - used, "%s_%lldx%lld ", tests->items[i].network,
            (long long)tests->items[i].level, (long long)tests->items[i].batch);
}

TEST(a_campaign_cut_short_has_all_networks_at_outer_levels_first)
{
    struct campaign_config config;
    struct campaign_tests tests = {0};
    char text[512], order[1024];

    case_write(test_path("list.ini"),
               "[some]\ntest_var= ['memory']\nbs= [8, 2]\n"
               "exec_stage= ['inference']\n"
               "model= ['a_0.net', 'a_30.net', 'a_50.net', 'a_70.net', "
               "'a_90.net', 'b_0.net', 'b_90.net', 'b_0_1.net']\n");
    snprintf(text, sizeof text, "[profile]\nlog_dir= logs\ntest_config= %s\n",
             test_path("list.ini"));
    case_read("device.ini", text, &config);
    CHECK_STATUS(campaign_list_tests(&config, &tests, &err), ASSAY_OK, &err);
    write_order(&tests, tests.n, order, sizeof order);
    CHECK_STR(order, "a_0x2 b_0x2 a_0x8 b_0x8 a_90x2 b_90x2 a_90x8 b_90x8 "
                     "a_50x2 a_50x8 a_30x2 a_30x8 a_70x2 a_70x8 "
                     "b_0x2 b_0x8 ");
    CHECK_INT(tests.items[15].repeat, 1);
    CHECK_INT(tests.items[0].series, tests.items[2].series);
    CHECK(tests.items[0].series != tests.items[1].series);
    campaign_tests_release(&tests);
    campaign_config_release(&config);
}

static void check_list_refused(const char *list, const char *part)
{
    struct campaign_config config;
    struct campaign_tests tests = {0};
    char text[512];

    case_write(test_path("list.ini"), list);
    snprintf(text, sizeof text, "[profile]\nlog_dir= logs\ntest_config= %s\n",
             test_path("list.ini"));
    case_read("device.ini", text, &config);
    err = (struct error){0};
    CHECK_INT(campaign_list_tests(&config, &tests, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, part);
    campaign_config_release(&config);
}

TEST(a_mistake_in_a_file_of_tests_is_reported_with_its_place)
{
    check_list_refused("[a]\nmodel= ['a_0.net']\n",
                       "line 1: [a] has no list of batches");
    check_list_refused("[a]\nbs= [0]\nmodel= ['a_0.net']\n",
                       "line 2: bs: batches must be from 1 to 65536");
    check_list_refused("[a]\nbs= [1]\nexec_stage= ['x']\n",
                       "line 3: exec_stage must be a list of training and");
    check_list_refused("[a]\nbs= [1]\n", "line 1: [a] has no list of models");
    check_list_refused("[a]\nbs= [1]\nmodel= ['a_97.net']\n",
                       "with a level of 0 to 95");
}
