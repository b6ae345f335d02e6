/* The configuration of a campaign, and messages about mistakes in it. */
#include "predict/campaign_config.h"

#include "test.h"

#include <stdio.h>

static struct error err;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    CHECK_INT(fclose(file), 0);
}

/* ---- the configuration --------------------------------------------------- */

/* All keys, as perf4sight has them. */
static const char everything[] =
    "[create_network_dataset]\n#{{{\n"
    "networks= ['alexnet', 'resnet18', 'mobilenetv2']\n"
    "pruning_perc= [0,5,90]\nmode= random \nmodel_desc_dir= models/imagenet\n"
    "model_path= nets\n#}}}\n\n[profile]\n"
    "## config creation params (run on any machine)\ncreate_config= True \n"
    "dataset= imagenet\nnetwork= resnet18\nbs= [2,8,256]\n"
    "stage= ['training', 'inference']\n"
    "profile_variables= ['memory', 'latency']\n"
    "device_model_loc= /home/nvidia/tx2/models\nlocal_model_loc= nets\n"
    "run_profiling= True \ngpu_id= 2\nsave= False\ndevice= 2080ti\n"
    "till_first_fail= False\nlog_dir= logs\n"
    "test_config= configs/resnet18.ini\n\n[fingerprint]\n"
    "evaluate= False\noverwrite= False\nstage= training\n"
    "memory_model= False\nlatency_model= True\ntrain_nets= ['resnet50']\n"
    "train_logs= [0,30,50,70,90]\neval_nets= ['resnet50']\n"
    "eval_logs= [5,10,15]\nmemory_logs= ['logs/memory']\n"
    "eval_memory_logs= []\nlatency_logs= ['logs/latency']\n"
    "eval_latency_logs= []\n";

static enum assay_status read_config(const char *name, const char *text,
                                     struct campaign_config *config)
{
    *config = (struct campaign_config){0};
    err = (struct error){0};
    write_file(test_path(name), text);
    return campaign_config_read(config, test_path(name), &err);
}

TEST(keys_that_only_perf4sight_needs_are_noted_one_line_each)
{
    struct campaign_config config;

    CHECK_STATUS(read_config("old.ini",
                             "[create_network_dataset]\nnetworks= ['alexnet']\n"
                             "pruning_perc= [0]\nmodel_path= nets\n"
                             "subset_name= l1_pruning\n[fingerprint]\n"
                             "loc= /nowhere\nperformance_model_type= dec_tree\n"
                             "performance_model_version= v7\n"
                             "backfill_mem_avail= False\n",
                             &config),
                 ASSAY_OK, &err);
    CHECK_HAS(str_text(&config.ignored),
              "old.ini: line 5: subset_name means nothing here: "
              "model_path and local_model_loc name the folders\n");
    CHECK_HAS(str_text(&config.ignored), "old.ini: line 7: loc means");
    CHECK_HAS(str_text(&config.ignored),
              "old.ini: line 8: performance_model_type means");
    CHECK_HAS(str_text(&config.ignored),
              "old.ini: line 10: backfill_mem_avail means");
    campaign_config_release(&config);
    CHECK_STATUS(read_config("none.ini", everything, &config), ASSAY_OK, &err);
    CHECK_STR(str_text(&config.ignored), "");
    campaign_config_release(&config);
}

TEST(all_keys_of_the_configuration_are_read)
{
    struct campaign_config config;

    CHECK_STATUS(read_config("all.ini", everything, &config), ASSAY_OK, &err);
    CHECK(config.has_create && config.has_profile && config.has_fingerprint);
    CHECK_INT(config.create.networks.n, 3);
    CHECK_STR(config.create.networks.items[2], "mobilenetv2");
    CHECK_INT(config.create.pruning_perc.items[1], 5);
    CHECK_INT(config.mode, PRUNE_RANDOM);
    CHECK_STR(config.create.model_desc_dir, "models/imagenet");
    CHECK(config.profile.create_config && config.profile.run_profiling);
    CHECK_STR(config.profile.network.items[0], "resnet18");
    CHECK_INT(config.profile.bs.items[2], 256);
    CHECK(config.has_stage[STAGE_TRAINING] &&
          config.has_stage[STAGE_INFERENCE]);
    CHECK(config.has_target[TARGET_MEMORY] &&
          config.has_target[TARGET_LATENCY]);
    CHECK_INT(config.profile.gpu_id, 2);
    CHECK(!config.profile.save && !config.profile.till_first_fail);
    CHECK_STR(config.profile.device, "2080ti");
    CHECK_STR(config.profile.test_config, "configs/resnet18.ini");
    CHECK(config.fingerprint.latency_model && !config.fingerprint.memory_model);
    CHECK_INT(config.fingerprint.train_logs.levels.n, 5);
    CHECK_INT(config.fingerprint.train_logs.folders.n, 0);
    CHECK_INT(config.fingerprint.eval_memory_logs.n, 0);
    CHECK_STR(config.fingerprint.latency_logs.items[0], "logs/latency");
    campaign_config_release(&config);
}

TEST(the_framework_of_the_tests_is_our_own_unless_configured)
{
    static const char profile[] = "[profile]\nbs= [1]\nlog_dir= logs\n";
    struct campaign_config config;
    char text[128];

    CHECK_STATUS(read_config("own.ini", profile, &config), ASSAY_OK, &err);
    CHECK_INT(config.framework, FRAMEWORK_ASSAY);
    CHECK(!campaign_config_needs_python(&config));
    campaign_config_release(&config);
    snprintf(text, sizeof text, "%sframework= torch\n", profile);
    CHECK_STATUS(read_config("torch.ini", text, &config), ASSAY_OK, &err);
    CHECK_INT(config.framework, FRAMEWORK_TORCH);
    CHECK(campaign_config_needs_python(&config));
    campaign_config_release(&config);
    snprintf(text, sizeof text, "%sframework= jax\n", profile);
    CHECK_INT(read_config("jax.ini", text, &config), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "framework is 'jax'; it must be one of assay, torch");
    campaign_config_release(&config);
}

TEST(a_toml_file_can_say_the_same)
{
    struct campaign_config config;

    CHECK_STATUS(
        read_config("c.toml",
                    "[create_network_dataset]\nnetworks = [\"resnet18\"]\n"
                    "pruning_perc = [0, 30]\nmode = \"random_weighted\"\n"
                    "repeats = 3\nmodel_path = \"nets\"\n",
                    &config),
        ASSAY_OK, &err);
    CHECK_INT(config.mode, PRUNE_RANDOM_WEIGHTED);
    CHECK_INT(config.create.repeats, 3);
    campaign_config_release(&config);
}

TEST(logs_to_learn_from_are_levels_or_folders)
{
    struct campaign_config config;

    CHECK_STATUS(read_config("logs.ini",
                             "[fingerprint]\ntrain_logs= ['tx2', 'more']\n"
                             "eval_logs= other\n",
                             &config),
                 ASSAY_OK, &err);
    CHECK_INT(config.fingerprint.train_logs.levels.n, 0);
    CHECK_INT(config.fingerprint.train_logs.folders.n, 2);
    CHECK_STR(config.fingerprint.train_logs.folders.items[1], "more");
    CHECK_STR(config.fingerprint.eval_logs.folders.items[0], "other");
    /* Both models are learned unless one is turned off. */
    CHECK(config.fingerprint.memory_model && config.fingerprint.latency_model);
    campaign_config_release(&config);
    CHECK_INT(read_config("logs.ini", "[fingerprint]\neval_logs= [0, 'x']\n",
                          &config),
              ASSAY_BAD_INPUT);
    campaign_config_release(&config);
}

static void check_refused(const char *text, const char *part)
{
    struct campaign_config config;

    CHECK_INT(read_config("bad.ini", text, &config), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, part);
    campaign_config_release(&config);
}

TEST(mistakes_in_a_configuration_are_reported_with_their_place)
{
    check_refused("[prune]\n", "line 1: unknown section 'prune'");
    check_refused("[profile]\nbs= [1]\nlog_dir= l\nbatch= 3\n",
                  "line 4: unknown key 'batch' in [profile]");
    check_refused("[profile]\nlog_dri= l\n", "did you mean 'log_dir'?");
    check_refused("[profile]\nbs= [1, 2\nlog_dir= l\n",
                  "line 2, column 5: the list is not closed");
    check_refused("[profile]\nbs= [1, 'x']\n", "must be a whole number");
    check_refused("[profile]\nbs= [0]\n", "is 0; it must be from 1");
    check_refused("[profile]\nsave= yes\n", "save must be True or False");
    check_refused("[profile]\nbs= [1]\n", "[profile] has no log_dir");
    check_refused(
        "[profile]\nbs= [1]\nlog_dir= l\nstage= ['eval']\n",
        "line 4: stage is 'eval'; it must be one of training, inference");
    check_refused(
        "[profile]\nbs= [1]\ndataset= mnist\nlog_dir= l\n",
        "line 3: dataset is 'mnist'; it must be one of imagenet, cifar10");
    check_refused("[profile]\nbs= [1]\nprofile_variables= heat\n",
                  "line 3: profile_variables is 'heat'; it must be one of");
    check_refused("[fingerprint]\nstage= 'eval'\n", "line 2: stage is 'eval'");
    check_refused("[create_network_dataset]\nnetworks= ['resnet18']\n"
                  "model_path= x\npruning_perc= [0, 96]\n",
                  "is 96; it must be from 0 to 95");
    check_refused("[create_network_dataset]\nnetworks= ['resnet18']\n"
                  "pruning_perc= [0]\nmodel_path= x\nmode= best\n",
                  "line 5: mode is 'best'; it must be one of");
    check_refused("# nothing\n", "it asks for nothing");
}
