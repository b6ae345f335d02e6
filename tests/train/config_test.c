/* What train/config.h promises. */
#include "train/config.h"

#include "base/file.h"
#include "base/mem.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static enum assay_status
read_config(const char *text, struct train_config *config, struct error *err)
{
    *err = (struct error){0};
    return train_config_read_text(text, strlen(text), "c.toml", config, err);
}

/* The message that refuses a text. */
static const char *refusal(const char *text)
{
    static struct error err;
    struct train_config config;

    CHECK_STATUS(read_config(text, &config, &err), ASSAY_BAD_INPUT, &err);
    train_config_release(&config);
    return err.text;
}

TEST(every_default_lies_in_its_range)
{
    struct train_config config = train_config_defaults();

    for (const struct config_key *key = config_keys; key->section; key++) {
        const char *at = (const char *)&config + key->offset;

        if (key->type == CONFIG_INTEGER && !key->automatic)
            CHECK((double)*(const int64_t *)at >= key->min &&
                  (double)*(const int64_t *)at <= key->max);
        if (key->type == CONFIG_NUMBER)
            CHECK(*(const double *)at >= key->min &&
                  *(const double *)at <= key->max);
    }
    train_config_release(&config);
}

TEST(the_defaults_are_those_of_the_usual_script)
{
    struct train_config config;
    struct error err;

    CHECK_STATUS(read_config("", &config, &err), ASSAY_OK, &err);
    CHECK_INT(config.training.num_epochs, 1);
    CHECK_INT(config.training.batch_size, 2);
    CHECK_INT(config.training.prefetch_factor, 2);
    CHECK_INT(config.training.num_workers, 4);
    CHECK_STR(config.training.device, "auto");
    CHECK_STR(config.model.name, "fasterrcnn_resnet50_fpn");
    CHECK_INT(config.dataset.kind, TRAIN_PETS);
    CHECK_INT(config.optimizer.name, TRAIN_SGD);
    train_config_release(&config);
}

TEST(every_type_of_value_is_read)
{
    static const char text[] = "[training]\n"
                               "batch_size = 8\n"
                               "device = \"cpu\"\n"
                               "[dataset]\n"
                               "kind = \"coco\"\n"
                               "root = '/data/coco'\n"
                               "[optimizer]\n"
                               "name = \"adamw\"\n"
                               "learning_rate = 1e-4\n"
                               "momentum = 0\n"
                               "nesterov = true\n";
    struct train_config config;
    struct error err;

    CHECK_STATUS(read_config(text, &config, &err), ASSAY_OK, &err);
    CHECK_INT(config.training.batch_size, 8);
    CHECK_STR(config.training.device, "cpu");
    CHECK_INT(config.dataset.kind, TRAIN_COCO);
    CHECK_STR(config.dataset.root, "/data/coco");
    CHECK_INT(config.optimizer.name, TRAIN_ADAMW);
    CHECK_NEAR(config.optimizer.learning_rate, 1e-4, 0);
    CHECK_NEAR(config.optimizer.momentum, 0, 0);
    CHECK(config.optimizer.nesterov);
    CHECK_INT(config.training.num_workers, 4);
    train_config_release(&config);
}

TEST(a_bad_value_is_reported_with_its_line)
{
    CHECK_STR(refusal("[training]\n\nbatch_size = 0\n"),
              "c.toml: line 3: batch_size is 0; it must be from 1 to 65536");
    CHECK_STR(refusal("[training]\nnum_workers = -1\n"),
              "c.toml: line 2: num_workers is -1; it must be from 0 to 256");
    CHECK_STR(refusal("[training]\nbatch_size = \"2\"\n"),
              "c.toml: line 2: batch_size must be an integer, not a string");
    CHECK_STR(refusal("[training]\nbatch_size = 2.0\n"),
              "c.toml: line 2: batch_size must be an integer, not a float");
    CHECK_STR(refusal("[training]\ndevice = 0\n"),
              "c.toml: line 2: device must be a string, not an integer");
    CHECK_STR(refusal("[optimizer]\nnesterov = 1\n"),
              "c.toml: line 2: nesterov must be true or false, not an integer");
    CHECK_STR(refusal("[optimizer]\nlearning_rate = []\n"),
              "c.toml: line 2: learning_rate must be a number, not an array");
    CHECK_STR(refusal("[optimizer]\nmomentum = 1.5\n"),
              "c.toml: line 2: momentum is 1.5; it must be from 0 to 1");
    CHECK_STR(refusal("[model]\nname = \"\"\n"),
              "c.toml: line 2: name is empty");
    CHECK_STR(refusal("[model]\nname = \"a\\u0000b\"\n"),
              "c.toml: line 2: name contains a NUL");
}

TEST(a_learning_rate_is_a_finite_number_above_0)
{
    CHECK_STR(refusal("[optimizer]\nlearning_rate = 0\n"),
              "c.toml: line 2: learning_rate is 0; it must be above 0 and at "
              "most 1e+06");
    CHECK_HAS(refusal("[optimizer]\nlearning_rate = nan\n"),
              "learning_rate is nan; it must be above 0");
    CHECK_HAS(refusal("[optimizer]\nlearning_rate = inf\n"),
              "learning_rate is inf; it must be above 0");
}

TEST(an_unknown_choice_is_answered_with_the_nearest_or_all)
{
    CHECK_STR(refusal("[dataset]\nkind = \"cooc\"\n"),
              "c.toml: line 2: kind is \"cooc\"; did you mean \"coco\"?");
    CHECK_STR(refusal("[optimizer]\nname = \"lbfgs\"\n"),
              "c.toml: line 2: name is \"lbfgs\"; it must be one of sgd, "
              "adamw");
}

TEST(an_unknown_key_is_answered_with_the_nearest_or_its_section)
{
    CHECK_STR(refusal("[training]\nbach_size = 2\n"),
              "c.toml: line 2: unknown key bach_size in [training]; did you "
              "mean batch_size?");
    CHECK_STR(refusal("[model]\nbatch_size = 2\n"),
              "c.toml: line 2: unknown key batch_size in [model]; it belongs "
              "to [training]");
    CHECK_STR(refusal("[model]\nzzzz = 2\n"),
              "c.toml: line 2: unknown key zzzz in [model]; 'assay train "
              "--defaults' lists all keys");
    CHECK_HAS(refusal("[training]\n\"batch_size\\u0000\" = 2\n"),
              "line 2: unknown key");
}

TEST(keys_outside_of_sections_are_refused)
{
    CHECK_STR(refusal("batch_size = 2\n"),
              "c.toml: line 1: batch_size is outside of any section; it "
              "belongs to [training]");
    CHECK_STR(refusal("devic = 2\n"),
              "c.toml: line 1: devic is outside of any section, and not the "
              "name of a setting; 'assay train --defaults' lists all");
    CHECK_STR(refusal("[trainig]\nbatch_size = 2\n"),
              "c.toml: line 1: unknown section [trainig]; did you mean "
              "[training]?");
    CHECK_STR(refusal("training = 3\n"),
              "c.toml: line 1: training is a section: [training]");
    CHECK_HAS(refusal("[[training]]\nbatch_size = 2\n"),
              "training is a section");
}

TEST(bad_toml_is_refused_with_line_and_column)
{
    CHECK_HAS(refusal("[training]\nbatch_size = \n"),
              "c.toml: line 2, column 14: ");
}

TEST(a_missing_file_is_named)
{
    struct train_config config;
    struct error err = {0};

    CHECK_STATUS(train_config_read(test_path("none.toml"), &config, &err),
                 ASSAY_NOT_FOUND, &err);
    CHECK_HAS(err.text, "none.toml");
    train_config_release(&config);
}

static enum assay_status check(const char *text, struct error *err)
{
    struct train_config config;
    enum assay_status st = read_config(text, &config, err);

    CHECK_STATUS(st, ASSAY_OK, err);
    st = train_config_check(&config, err);
    train_config_release(&config);
    return st;
}

TEST(a_missing_device_is_refused_with_a_way_out)
{
    struct error err;

    CHECK_STATUS(check("[training]\ndevice = \"cpu\"\n", &err), ASSAY_OK, &err);
    if (!device_at(1)) {
        CHECK_INT(check("[training]\ndevice = \"cuda:0\"\n", &err),
                  ASSAY_UNSUPPORTED);
        CHECK_HAS(err.text, "c.toml: line 2: device: cuda:0 cannot be used: ");
        CHECK_HAS(err.text, "; --device cpu trains on the processors");
    }
    CHECK_INT(check("[training]\ndevice = \"cuda:\"\n", &err), ASSAY_BAD_INPUT);
    CHECK_INT(check("[training]\ndevice = \"tpu\"\n", &err), ASSAY_BAD_INPUT);
    CHECK_STR(
        err.text,
        "c.toml: line 2: device is \"tpu\"; it must be \"auto\", \"cpu\" or "
        "\"cuda:0\"");
}

TEST(an_unknown_model_is_refused_with_the_nearest_name)
{
    struct error err;

    CHECK_STATUS(check("[model]\nname = \"faster-rcnn\"\n", &err), ASSAY_OK,
                 &err);
    CHECK_INT(check("[model]\nname = \"resnet81\"\n", &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "c.toml: line 2: name is \"resnet81\", and there is no "
                        "such model; did you mean \"resnet");
}

TEST(a_command_line_overrides_the_file)
{
    struct train_config config;
    struct error err;

    CHECK_STATUS(
        read_config("[training]\ndevice = \"cuda:0\"\n", &config, &err),
        ASSAY_OK, &err);
    CHECK_STATUS(train_config_set(&config, "training.device", "cpu", &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(train_config_set(&config, "model.name", "\"resnet18\"", &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(train_config_set(&config, "training.batch_size", "16", &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(train_config_set(&config, "optimizer.name", "adamw", &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(train_config_check(&config, &err), ASSAY_OK, &err);
    CHECK_STR(config.model.name, "resnet18");
    CHECK_INT(config.training.batch_size, 16);
    CHECK_INT(config.optimizer.name, TRAIN_ADAMW);
    train_config_release(&config);
}

static const char *wrong_usage(const char *name, const char *value)
{
    static struct error err;
    struct train_config config = train_config_defaults();

    err = (struct error){0};
    CHECK_STATUS(train_config_set(&config, name, value, &err), ASSAY_BAD_USAGE,
                 &err);
    train_config_release(&config);
    return err.text;
}

TEST(a_bad_setting_on_the_command_line_is_wrong_usage)
{
    CHECK_STR(wrong_usage("training.batch_size", "0"),
              "training.batch_size is 0; it must be from 1 to 65536");
    CHECK_STR(wrong_usage("training.batch_size", "two"),
              "training.batch_size cannot be 'two'");
    CHECK_STR(wrong_usage("training.batch_size", "2\n[model]\nname = 'x'"),
              "training.batch_size cannot be '2?[model]?name = 'x''");
    CHECK_STR(wrong_usage("training.bach_size", "2"),
              "unknown setting 'training.bach_size'; did you mean "
              "'training.batch_size'?");
    CHECK_HAS(wrong_usage("x", "2"), "unknown setting 'x'; 'assay train");
}

TEST(the_file_of_defaults_reads_back_as_the_defaults)
{
    struct train_config config, defaults = train_config_defaults();
    struct str text = {0};
    struct sink sink = sink_to_str(&text);
    char got[CONFIG_VALUE_MAX], want[CONFIG_VALUE_MAX];
    struct error err = {0};

    train_config_write_defaults(&sink);
    CHECK_STATUS(
        train_config_read_text(text.text, text.n, "d.toml", &config, &err),
        ASSAY_OK, &err);
    for (const struct config_key *key = config_keys; key->section; key++) {
        bool is_given = config_value_text(&config, key, got);

        CHECK_INT(config_value_text(&defaults, key, want), is_given);
        CHECK_STR(got, want);
        CHECK_INT(config.lines[key - config_keys] > 0, is_given);
        CHECK_HAS(text.text, key->meaning);
    }
    train_config_release(&config);
    str_release(&text);
}

TEST(the_manual_contains_the_file_of_defaults)
{
    enum { most_bytes = 1 << 20 };
    struct str text = {0}, page = {0};
    struct sink sink = sink_to_str(&text);
    struct error err = {0};

    train_config_write_defaults(&sink);
    CHECK_STATUS(
        file_read(TEST_SOURCE_DIR "/docs/train.md", most_bytes, &page, &err),
        ASSAY_OK, &err);
    CHECK_HAS(str_text(&page), text.text);
    str_release(&text);
    str_release(&page);
}

TEST(a_text_is_written_as_toml_reads_it)
{
    struct train_config config = train_config_defaults(), back;
    const struct config_key *key = config_key_find("dataset.root");
    char value[CONFIG_VALUE_MAX], line[CONFIG_VALUE_MAX + 32];
    struct error err;

    config.dataset.root = "a \"b\" \\ \t\x7f";
    CHECK(config_value_text(&config, key, value));
    snprintf(line, sizeof line, "[dataset]\nroot = %s\n", value);
    CHECK_STATUS(read_config(line, &back, &err), ASSAY_OK, &err);
    CHECK_STR(back.dataset.root, config.dataset.root);
    train_config_release(&back);
    train_config_release(&config);
}

TEST(reading_leaks_nothing_whichever_allocation_fails)
{
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct train_config config;
        struct error err;

        mem_fail_at(nth++);
        st = read_config("[model]\nname = \"resnet18\"\n", &config, &err);
        mem_fail_at(-1);
        train_config_release(&config);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 3);
}
