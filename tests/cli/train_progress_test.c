/* What cli/train_progress.h and cli/train_echo.h promise. */
#include "cli/train_progress.h"

#include "cli/train_echo.h"
#include "test.h"

#include <string.h>

static struct str out;
static int64_t now_ns;

static int64_t read_now(void *context)
{
    (void)context;
    return now_ns;
}

static struct train_progress start(struct sink *sink, bool is_terminal)
{
    struct term term = {
        .is_terminal = is_terminal, .has_utf8 = true, .width = 120};

    str_clear(&out);
    *sink = sink_to_str(&out);
    now_ns = 1000000000;
    return train_progress_start(sink, &term,
                                (struct clock){.now_ns = read_now});
}

/* After this many seconds, step i of n, with 2 images. */
static void step(struct train_progress *progress, double seconds, uint64_t i,
                 uint64_t n)
{
    static const char *const names[] = {"loss_classifier", "loss_box_reg"};
    static const double parts[] = {0.5, 0.25};

    now_ns += (int64_t)(seconds * 1e9);
    train_progress_step(progress, &(struct train_step){.step = i,
                                                       .n_steps = n,
                                                       .epoch = 1,
                                                       .n_epochs = 2,
                                                       .n_images = 2,
                                                       .loss = 0.75,
                                                       .part_names = names,
                                                       .parts = parts,
                                                       .n_parts = 2});
}

TEST(a_line_has_epoch_step_share_times_rate_and_losses)
{
    struct sink sink;
    struct train_progress progress = start(&sink, false);

    step(&progress, 100, 1, 50);
    str_clear(&out);
    step(&progress, 10, 2, 50);
    CHECK_STR(str_text(&out),
              "epoch 1/2  step 2/50  4 %  1:50, 8:00 left  0.200 images/s  "
              "loss 0.750 = classifier 0.500 + box_reg 0.250\n");
}

TEST(the_first_step_tells_no_pace)
{
    struct sink sink;
    struct train_progress progress = start(&sink, false);

    step(&progress, 4, 1, 50);
    CHECK_STR(str_text(&out),
              "epoch 1/2  step 1/50  2 %  0:04  "
              "loss 0.750 = classifier 0.500 + box_reg 0.250\n");
}

TEST(without_a_terminal_lines_come_at_intervals)
{
    struct sink sink;
    struct train_progress progress = start(&sink, false);
    size_t n = 0;

    for (uint64_t i = 1; i <= 30; i++)
        step(&progress, 1, i, 30);
    train_progress_finish(&progress);
    for (const char *at = str_text(&out); (at = strchr(at, '\n')); at++)
        n++;
    CHECK_INT(n, 4);
    CHECK_HAS(str_text(&out), "step 1/30");
    CHECK_HAS(str_text(&out), "step 11/30");
    CHECK_HAS(str_text(&out), "step 21/30");
    CHECK_HAS(str_text(&out), "step 30/30  100 %  0:30  2.00 images/s");
}

static size_t columns_of(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text != '\r' && ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

TEST(the_bar_is_that_of_the_epoch)
{
    struct sink sink;
    struct train_progress progress = start(&sink, true);

    train_progress_step(&progress, &(struct train_step){.step = 25,
                                                        .n_steps = 30,
                                                        .epoch = 3,
                                                        .n_epochs = 3,
                                                        .n_images = 2,
                                                        .loss = 0.75});
    CHECK_HAS(str_text(&out), "\repoch 3/3  ██████████            5/10  50 %");
    CHECK_HAS(str_text(&out), "loss 0.750");
    CHECK_INT(columns_of(str_text(&out)), 119);
}

TEST(on_a_terminal_the_line_is_redrawn_and_wiped)
{
    struct sink sink;
    struct train_progress progress = start(&sink, true);

    step(&progress, 1, 1, 30);
    CHECK_INT(out.text[0], '\r');
    CHECK(!strchr(out.text, '\n'));
    CHECK_INT(columns_of(str_text(&out)), 119);
    str_clear(&out);
    step(&progress, 0.01, 2, 30);
    CHECK_STR(str_text(&out), "");
    step(&progress, 0.2, 3, 30);
    CHECK_HAS(str_text(&out), "\repoch 1/2  ████                  3/15  20 %");
    str_clear(&out);
    train_progress_finish(&progress);
    CHECK_INT(out.n, 121);
    CHECK_INT(strspn(out.text, "\r "), 121);
}

TEST(a_long_line_stays_one_line)
{
    struct sink sink;
    struct train_progress progress = start(&sink, true);

    progress.term.width = 40;
    step(&progress, 1, 1, 30);
    CHECK_INT(out.n, 40);
}

static void check_end(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    while (n > 0 && text[n - 1] == ' ')
        n--;
    CHECK(n >= n_end);
    CHECK(strncmp(text + n - n_end, end, n_end) == 0);
}

/* "epoch 1/2  ████████████████████  2/15  13 %  0:02, 0:28 left  2.00 images/s
 * loss 0.750" has 87 letters, the classifier's part 19, the boxes' 16. */
TEST(parts_of_the_loss_that_do_not_fit_are_left_out)
{
    static const struct {
        int width; /* the last column stays free */
        const char *end;
    } cases[] = {{106, "loss 0.750"},
                 {107, "loss 0.750 = classifier 0.500"},
                 {122, "loss 0.750 = classifier 0.500"},
                 {123, "loss 0.750 = classifier 0.500 + box_reg 0.250"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sink sink;
        struct train_progress progress = start(&sink, true);

        progress.term.width = cases[i].width;
        step(&progress, 1, 1, 30);
        str_clear(&out);
        step(&progress, 1, 2, 30);
        CHECK_INT(columns_of(str_text(&out)), cases[i].width - 1);
        check_end(str_text(&out), cases[i].end);
    }
}

TEST(the_echo_shows_every_setting_and_the_defaults_of_changed_ones)
{
    struct train_config config = train_config_defaults();
    struct term term = term_plain(100);
    struct error err = {0};
    struct sink sink = sink_to_str(&out);

    str_clear(&out);
    CHECK_STATUS(train_config_set(&config, "training.batch_size", "8", &err),
                 ASSAY_OK, &err);
    train_echo_config(&config, &term, &sink);
    CHECK_HAS(out.text, "settings the defaults: there is no "
                        ".config/config.toml\n");
    CHECK_HAS(out.text, "training num_epochs 1   batch_size 8 (default 2)   ");
    CHECK_HAS(out.text, "\nmodel    name fasterrcnn_resnet50_fpn   ");
    for (const struct config_key *key = config_keys; key->section; key++)
        CHECK_HAS(out.text, key->name);
    train_config_release(&config);
}
