/* The networks of a campaign: which are made, and which are left out. */
#include "predict/campaign.h"

#include "campaign_case.h"
#include "formats/net/net.h"
#include "models/models.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error err;

static void check_network_refused(const char *name, const char *part)
{
    struct campaign_config config;
    char text[512];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['%s']\n"
             "pruning_perc= [0]\nmodel_path= %s\n",
             name, test_path("none"));
    err = (struct error){0};
    case_read("net.ini", text, &config);
    CHECK(campaign_make_networks(&config, NULL, &err) != ASSAY_OK);
    CHECK_HAS(err.text, part);
    campaign_config_release(&config);
}

TEST(unknown_networks_are_named)
{
    check_network_refused("resnet19", "unknown network 'resnet19'");
    check_network_refused("models/resnet.py", "written in Python");
    check_network_refused("x.onnx", "x.onnx");
    check_network_refused("faster-rcnn", "a campaign measures classifiers");
}

/* What was reported about networks: "made PATH", "left NETWORK LEVEL". */
static char told[1024];

static void tell_made(void *context, const char *path)
{
    (void)context;
    snprintf(told + strlen(told), sizeof told - strlen(told), "made %s\n",
             strrchr(path, '/') + 1);
}

static void tell_left_out(void *context, const char *network, int64_t level,
                          const char *why)
{
    const char *slash = strrchr(network, '/');

    (void)context;
    CHECK(why[0]);
    snprintf(told + strlen(told), sizeof told - strlen(told), "left %s %lld\n",
             slash ? slash + 1 : network, (long long)level);
}

static enum assay_status make_all(const char *networks, const char *folder,
                                  const char *more)
{
    const struct campaign_listener listener = {.made = tell_made,
                                               .left_out = tell_left_out};
    struct campaign_config config;
    enum assay_status st;
    char text[2048];

    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= [%s]\n"
             "pruning_perc= [0, 50]\nmodel_path= %s\n%s",
             networks, test_path(folder), more);
    err = (struct error){0};
    case_read("made.ini", text, &config);
    told[0] = '\0';
    st = campaign_make_networks(&config, &listener, &err);
    campaign_config_release(&config);
    return st;
}

TEST(a_network_that_cannot_be_pruned_is_kept_at_level_0)
{
    char networks[512];

    /* Its only convolution makes the output, whose shape must not change. */
    case_write(test_path("whole.net"),
               "assay-net 1\nmodel whole Net\nmodule a Conv2d\n"
               "input images float32 ?x3x8x8\n"
               "parameter a.weight float32 8x3x3x3 normal 0.2\n"
               "%0 = Conv2d(images, a.weight, -, -) in a stride=1,1 "
               "dilation=1,1 groups=1\noutput y %0\n");
    snprintf(networks, sizeof networks, "'%s', 'mobilenetv2'",
             test_path("whole.net"));
    CHECK_STATUS(make_all(networks, "whole",
                          "[profile]\nbs= 1\nlog_dir= x\n"
                          "dataset= cifar10\n"),
                 ASSAY_OK, &err);
    CHECK_STR(told, "made whole_0.net\nleft whole.net 50\n"
                    "made mobilenetv2_0.net\nmade mobilenetv2_50.net\n");
}

TEST(a_network_without_a_variant_for_the_dataset_is_left_out)
{
    CHECK_STATUS(make_all("'squeezenet', 'faster-rcnn', 'mobilenetv2'",
                          "variants",
                          "mode= l1\n[profile]\nbs= 1\nlog_dir= x\n"
                          "dataset= cifar10\n"),
                 ASSAY_OK, &err);
    CHECK_STR(told, "left squeezenet -1\nleft faster-rcnn -1\n"
                    "made mobilenetv2_0.net\nmade mobilenetv2_50.net\n");
    /* There were weights to compare. */
    CHECK(access(test_path("variants/mobilenetv2_0.safetensors"), F_OK) != 0);
}

TEST(an_unknown_name_is_refused_before_any_network_is_made)
{
    CHECK_INT(make_all("'mobilenetv2', 'resnet19'", "early", ""),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "unknown network 'resnet19'");
    CHECK_STR(told, "");
    CHECK_INT(make_all("'mobilenetv2', 'x.onnx'", "early", ""),
              ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "x.onnx");
    CHECK_STR(told, "");
}

/* A network of two convolutions, with weights or without. */
static void write_network(const char *name, bool has_weights)
{
    static const char text[] =
        "assay-net 1\nmodel own Net\nmodule a Conv2d\nmodule b Conv2d\n"
        "input images float32 ?x3x8x8\n"
        "parameter a.weight float32 8x3x3x3 normal 0.2\n"
        "parameter b.weight float32 4x8x1x1 normal 0.2\n"
        "%0 = Conv2d(images, a.weight, -, -) in a stride=1,1 dilation=1,1 "
        "groups=1\n"
        "%1 = Conv2d(%0, b.weight, -, -) in b stride=1,1 dilation=1,1 "
        "groups=1\noutput y %1\n";
    const struct net_notes notes = {0};
    struct pool *pool;
    struct graph *graph;

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_read(text, strlen(text), pool, &graph, &err), ASSAY_OK,
                 &err);
    if (has_weights)
        CHECK_STATUS(model_fill(graph, pool, 0, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_save(graph, test_path(name), &notes, &err), ASSAY_OK,
                 &err);
    graph_free(graph);
    pool_free(pool);
}

TEST(networks_pruned_by_norm_keep_the_weights_that_were_compared)
{
    struct campaign_config config;
    char text[2048];

    write_network("own.net", true);
    write_network("bare.net", false);
    snprintf(text, sizeof text,
             "[create_network_dataset]\nnetworks= ['%s', '%s']\n"
             "pruning_perc= [50]\nmode= l1\nmodel_path= %s\n",
             test_path("own.net"), test_path("bare.net"), test_path("l1"));
    case_read("l1.ini", text, &config);
    CHECK_STATUS(campaign_make_networks(&config, NULL, &err), ASSAY_OK, &err);
    CHECK_INT(access(test_path("l1/own_50.net"), R_OK), 0);
    CHECK_INT(access(test_path("l1/own_50.safetensors"), R_OK), 0);
    CHECK_INT(access(test_path("l1/bare_50.net"), R_OK), 0);
    CHECK(access(test_path("l1/bare_50.safetensors"), F_OK) != 0);
    campaign_config_release(&config);
}
