/* tests/predict/data_folder_test.c - reading measurements. */
#include "predict/data_folder.h"

#include "base/mem.h"
#include "predict/csv.h"
#include "predict/selection.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A folder of four files, each valid unless another text is given. */
struct folder {
    const char *measurements, *layers, *networks, *ops;
};

static const struct folder good = {
    .measurements =
        "network,prune,batch,stage,repeat,lat_passed,mem_passed,latency_ms,"
        "mem_used_mb,mem_avail_mb,mem_capacity_mb,lat_in_gt,mem_in_gt\n"
        "tiny,0,2,training,0,1,1,12.5,1600,7000,7859,1,1\n"
        "tiny,0,4,training,0,1,1,2.0e1,1700,7100,7859,1,0\n"
        "tiny,0,8,training,0,0,0,,9,7000,7859,1,1\n"
        "\"tiny\",0,2,inference,0,1,,4,,,,,\n"
        "other,5,2,training,0,1,1,1,1,,,1,1\n"
        "other,15,2,training,0,1,1,1,1,,,1,1\n",
    .layers = "network,prune,ic,oc,kh,kw,sh,sw,ph,pw,groups,ih,iw,bias\n"
              "tiny,0,3,8,3,3,2,2,1,1,1,32,32,1\r\n"
              "tiny,0,8,8,3,3,1,1,1,1,8,16,16,0\n",
    .networks = "network,prune,total_params,bn_params,n_param_tensors,"
                "fc_layers,saved_act_bytes_per_image\n"
                "tiny,0,1234,32,8,8x10;10x5,4096\n",
    .ops = "prune,network,relu_elems,n_relu,bn_elems,n_bn,cat_elems,n_cat,"
           "add_elems,n_add,maxpool_in,maxpool_out,maxpool_taps,n_maxpool,"
           "avgpool_in,n_avgpool\n"
           "0,tiny,10,1,20,2,0,0,30,3,40,5,45,1,60,1\n",
};

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static const char *make_folder(const char *name, const struct folder *folder)
{
    const char *path = test_path(name);

    mkdir(path, 0700);
    write_file(path, "measurements.csv",
               folder->measurements ? folder->measurements : good.measurements);
    write_file(path, "layers.csv",
               folder->layers ? folder->layers : good.layers);
    write_file(path, "networks.csv",
               folder->networks ? folder->networks : good.networks);
    write_file(path, "network_ops.csv", folder->ops ? folder->ops : good.ops);
    return path;
}

static void check_refused(const struct folder *folder, const char *part)
{
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, make_folder("bad", folder), &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, part);
    data_set_release(&set);
}

TEST(rows_and_descriptions_are_read_as_they_are_written)
{
    struct data_set set = {0};
    struct error err = {0};
    const struct description *tiny;

    CHECK_STATUS(data_set_read(&set, make_folder("good", &good), &err),
                 ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 4);
    tiny = &set.descriptions[set.rows[0].description];
    CHECK_STR(tiny->network, "tiny");
    CHECK_INT(tiny->n_convs, 2);
    CHECK_INT(tiny->convs[0].stride[1], 2);
    CHECK(tiny->convs[0].has_bias);
    CHECK(conv_is_depthwise(&tiny->convs[1]));
    CHECK_INT(tiny->n_denses, 2);
    CHECK_INT(tiny->denses[1].in, 10);
    CHECK_NEAR(tiny->counts.parameters, 1234, 0);
    CHECK_NEAR(tiny->counts.add_elements, 30, 0);
    CHECK_NEAR(tiny->counts.max_pool_taps, 45, 0);
    CHECK_NEAR(description_macs(tiny), 16 * 16 * (3 * 8 * 9 + 8 * 9) + 80 + 50,
               0);
    CHECK_NEAR(set.rows[0].value[TARGET_LATENCY], 12.5, 0);
    CHECK_NEAR(set.rows[1].value[TARGET_LATENCY], 20, 0);
    CHECK_NEAR(set.capacity_mb, 7859, 0);
    CHECK_NEAR(set.available_mb, 7100, 0);
    CHECK_INT(set.rows[3].stage, STAGE_INFERENCE);
    data_set_release(&set);
}

TEST(what_failed_or_was_not_kept_has_no_value)
{
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, make_folder("good", &good), &err),
                 ASSAY_OK, &err);
    CHECK(isnan(set.rows[1].value[TARGET_MEMORY])); /* not kept */
    CHECK(!set.rows[1].is_failed);
    CHECK(set.rows[2].is_failed);
    CHECK(isnan(set.rows[2].value[TARGET_MEMORY]));
    CHECK(isnan(set.rows[2].value[TARGET_LATENCY]));
    CHECK(isnan(set.rows[3].value[TARGET_MEMORY])); /* not measured */
    CHECK(!set.rows[3].is_failed);
    data_set_release(&set);
}

TEST(rows_of_networks_without_layers_are_counted_and_named)
{
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, make_folder("good", &good), &err),
                 ASSAY_OK, &err);
    CHECK_INT(set.n_undescribed, 2);
    CHECK_STR(str_text(&set.undescribed), "other 5 15");
    data_set_release(&set);
}

TEST(a_second_folder_adds_rows_but_describes_no_network_twice)
{
    const char *folder = make_folder("good", &good);
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    CHECK_INT(set.n_rows, 8);
    CHECK_INT(set.descriptions[set.rows[7].description].n_convs, 2);
    CHECK_INT(set.descriptions[set.rows[7].description].n_denses, 2);
    data_set_release(&set);
}

TEST(missing_columns_are_named)
{
    struct folder bad = {.networks = "network,prune,total_params\n"};

    check_refused(&bad, "networks.csv: no column 'bn_params'");
    bad = (struct folder){.measurements = "network,batch\n"};
    check_refused(&bad, "no column 'prune'");
    bad = (struct folder){.layers = ""};
    check_refused(&bad, "layers.csv");
}

TEST(text_instead_of_a_number_is_reported_with_its_place)
{
    struct folder bad = {
        .measurements =
            "network,prune,batch,stage,lat_passed,mem_passed,latency_ms,"
            "mem_used_mb\n"
            "tiny,0,2,training,1,1,12.5,1600\n"
            "tiny,0,4,training,1,1,fast,1600\n"};

    check_refused(&bad, "measurements.csv line 3, column latency_ms: 'fast' "
                        "is not a number");
    bad.measurements = "network,prune,batch,stage,lat_passed,mem_passed,"
                       "latency_ms,mem_used_mb\ntiny,0,2,sleeping,1,1,1,1\n";
    check_refused(&bad, "'sleeping' is neither training nor inference");
    bad.measurements = "network,prune,batch,stage,lat_passed,mem_passed,"
                       "latency_ms,mem_used_mb\ntiny,101,2,training,1,1,1,1\n";
    check_refused(&bad, "101 is not from 0 to 100");
    bad.measurements = "network,prune,batch,stage,lat_passed,mem_passed,"
                       "latency_ms,mem_used_mb\ntiny,0,2,training\n";
    check_refused(&bad, "4 fields, but 8 columns are named");
}

TEST(impossible_layers_are_refused)
{
    struct folder bad = {
        .layers = "network,prune,ic,oc,kh,kw,sh,sw,ph,pw,groups,ih,iw,bias\n"
                  "tiny,0,3,8,9,9,1,1,0,0,1,4,4,0\n"};

    check_refused(&bad, "line 2: not a possible convolution");
    bad.layers = "network,prune,ic,oc,kh,kw,sh,sw,ph,pw,groups,ih,iw,bias\n"
                 "tiny,0,3,8,3,3,0,1,0,0,1,4,4,0\n";
    check_refused(&bad, "column sh");
    bad = (struct folder){
        .networks = "network,prune,total_params,bn_params,n_param_tensors,"
                    "fc_layers,saved_act_bytes_per_image\n"
                    "tiny,0,1234,32,8,8by10,4096\n"};
    check_refused(&bad, "'8by10' is not INxOUT");
}

TEST(a_missing_folder_is_reported)
{
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, test_path("nowhere"), &err),
                 ASSAY_NOT_FOUND, &err);
    CHECK_HAS(err.text, "there is no such folder");
    data_set_release(&set);
}

TEST(no_failing_allocation_of_reading_goes_unnoticed)
{
    const char *folder = make_folder("good", &good);
    enum assay_status st = ASSAY_NOMEM;
    long live = mem_live();

    for (long i = 0; st && i < 1000; i++) {
        struct data_set set = {0};
        struct error err = {0};

        mem_fail_at(i);
        st = data_set_read(&set, folder, &err);
        mem_fail_at(-1);
        CHECK(!st || st == ASSAY_NOMEM);
        data_set_release(&set);
        CHECK_INT(mem_live(), live);
    }
    CHECK_INT(st, ASSAY_OK);
}

TEST(quoted_fields_may_hold_commas_and_quotes)
{
    static const char text[] = "a,b\n\"x,y\",\"he said \"\"no\"\"\"\n1,\n";
    struct csv csv = {0};
    struct error err = {0};
    bool more;

    CHECK_STATUS(csv_open_text(&csv, "t.csv", text, sizeof text - 1, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(csv_next(&csv, &more, &err), ASSAY_OK, &err);
    CHECK_STR(csv_field(&csv, 0), "x,y");
    CHECK_STR(csv_field(&csv, 1), "he said \"no\"");
    CHECK_STATUS(csv_next(&csv, &more, &err), ASSAY_OK, &err);
    CHECK_STR(csv_field(&csv, 1), "");
    CHECK_STATUS(csv_next(&csv, &more, &err), ASSAY_OK, &err);
    CHECK(!more);
    csv_release(&csv);
}

TEST(a_quote_that_does_not_close_on_its_line_is_refused)
{
    static const char text[] = "a,b\n1,2\n\"x\ny\",3\n";
    struct csv csv = {0};
    struct error err = {0};
    bool more;

    CHECK_STATUS(csv_open_text(&csv, "t.csv", text, sizeof text - 1, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(csv_next(&csv, &more, &err), ASSAY_OK, &err);
    CHECK_STATUS(csv_next(&csv, &more, &err), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "t.csv line 3: missing closing quote");
    csv_release(&csv);
}

/* ---- selections ---------------------------------------------------------- */

static bool selects(const char *text, const char *network, int64_t level)
{
    struct selection selection = {0};
    struct description description = {.network = (char *)network,
                                      .level = level};
    struct error err = {0};
    bool has;

    CHECK_STATUS(selection_parse(&selection, text, &err), ASSAY_OK, &err);
    has = selection_has(&selection, &description);
    selection_release(&selection);
    return has;
}

TEST(networks_and_levels_are_selected_as_written)
{
    CHECK(selects("resnet50:0,30,50", "resnet50", 30));
    CHECK(!selects("resnet50:0,30,50", "resnet50", 31));
    CHECK(!selects("resnet50:0,30,50", "resnet18", 30));
    CHECK(selects("resnet18,resnet50:5..85", "resnet18", 90));
    CHECK(selects("resnet18,resnet50:5..85", "resnet50", 85));
    CHECK(!selects("resnet18,resnet50:5..85", "resnet50", 0));
    CHECK(selects("a:10..,b", "a", 95));
    CHECK(selects("a:..20,b", "a", 0));
    CHECK(!selects("a:..20,b", "a", 25));
    CHECK(selects("mobilenet_v2:0", "mobilenetv2", 0));
}

TEST(a_bad_selection_is_reported_with_its_place)
{
    static const char *const bad[] = {"resnet50:0,3x",   ":5",   "resnet50:96",
                                      "resnet50:70..30", "a,,b", ""};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct selection selection = {0};
        struct error err = {0};

        CHECK_STATUS(selection_parse(&selection, bad[i], &err), ASSAY_BAD_USAGE,
                     &err);
        CHECK_HAS(err.text, bad[i]);
        selection_release(&selection);
    }
}

TEST(machines_that_rows_were_measured_on_are_named_once)
{
    const char *folder = make_folder(
        "machines",
        &(struct folder){
            .measurements =
                "network,prune,batch,stage,lat_passed,mem_passed,latency_ms,"
                "mem_used_mb,machine\n"
                "tiny,0,1,training,1,1,1,1,one\n"
                "tiny,0,2,training,1,1,1,1,one\n"
                "tiny,0,4,training,1,1,1,1,\n"
                "tiny,0,8,training,1,1,1,1,\"another, larger\"\n"});
    struct data_set set = {0};
    struct error err = {0};

    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    CHECK_STR(str_text(&set.machines), "one\nanother, larger\n");
    data_set_release(&set);
}
