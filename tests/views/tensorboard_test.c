/* Event files hold the values of the run, in the framing of TensorFlow. */
#include "base/file.h"
#include "made_runs.h"
#include "picture/picture.h"
#include "test.h"
#include "tfrecord.h"
#include "views/live_events.h"
#include "views/tensorboard.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

/* Field numbers of TensorFlow's event.proto and summary.proto. */
enum {
    EVENT_WALL = 1,
    EVENT_STEP = 2,
    EVENT_VERSION = 3,
    EVENT_SUMMARY = 5,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_IMAGE = 4,
    VALUE_HISTOGRAM = 5,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9
};

static struct str written(const struct run *run,
                          const struct event_picture *pictures, size_t n)
{
    struct error err = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    OK(view_tensorboard(run, NULL, pictures, n, &sink, &err));
    return text;
}

static struct span whole(const struct str *text)
{
    return (struct span){(const unsigned char *)text->text, text->n};
}

/* The value of the nth event with that tag and kind, and its event. */
static struct span find_value(const struct str *file, const char *tag,
                              unsigned kind, size_t nth, struct span *event)
{
    struct span left = whole(file);

    while (tfrecord_next(&left, event)) {
        struct span summary = message_field(*event, EVENT_SUMMARY).bytes;
        struct span value = message_field(summary, SUMMARY_VALUE).bytes;
        struct field_seen name = message_field(value, VALUE_TAG);

        if (field_is(&name, tag) && message_field(value, kind).number == kind &&
            nth-- == 0)
            return value;
    }
    return (struct span){0};
}

TEST(files_written_by_tensorflow_have_the_framing_we_read)
{
    static const struct {
        const char *name;
        int records;
    } files[] = {
        {"traces/tensorboard/events.out.tfevents.1476472047.localhost", 71},
        {"traces/tensorboard/events.out.tfevents.1476472058.localhost", 5},
        {"traces/tensorboard/events.out.tfevents.1515280092.tayo-glaptop", 12},
        {"traces/tensorboard/events.out.tfevents.1515280094.tayo-glaptop", 2},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path = test_shared(files[i].name);
        struct error err = {0};
        struct str text = {0};
        struct span left, record;
        struct field_seen version;
        int n = 0;

        if (!path)
            SKIP("%s is not there", files[i].name);
        OK(file_read(path, 1 << 20, &text, &err));
        left = whole(&text);
        while (tfrecord_next(&left, &record)) {
            version = message_field(record, EVENT_VERSION);
            CHECK_INT(n == 0, field_is(&version, "brain.Event:2"));
            n++;
        }
        CHECK_INT(n, files[i].records);
        str_release(&text);
    }
}

TEST(the_first_record_says_what_the_file_is)
{
    struct run *run = made_detector();
    struct str file = written(run, NULL, 0);
    struct span left = whole(&file), record;
    struct field_seen version;

    CHECK(tfrecord_next(&left, &record));
    version = message_field(record, EVENT_VERSION);
    CHECK(field_is(&version, "brain.Event:2"));
    str_release(&file);
    run_free(run);
}

TEST(latencies_are_scalars_over_the_iterations)
{
    struct run *run = made_detector();
    struct str file = written(run, NULL, 0);

    for (size_t i = 0; i < 10; i++) {
        struct span event;
        struct span value =
            find_value(&file, "latency_ms", VALUE_SIMPLE, i, &event);
        struct field_seen number = message_field(value, VALUE_SIMPLE);

        CHECK_INT(message_field(event, EVENT_STEP).varint, i);
        CHECK_NEAR((double)field_float(&number),
                   (double)run_iteration(run, i)->duration_ns / 1e6, 1e-3);
    }
    str_release(&file);
    run_free(run);
}

TEST(the_wall_time_is_the_start_of_the_run_plus_that_of_the_iteration)
{
    struct run *run = made_detector();
    struct error err = {0};
    struct str file;
    struct span event;
    struct field_seen wall;

    OK(run_fact_set(run, "time.started", "2026-11-15T12:00:00Z", &err));
    CHECK_NEAR(run_began(run), 1794744000, 0);
    file = written(run, NULL, 0);
    find_value(&file, "latency_ms", VALUE_SIMPLE, 3, &event);
    wall = message_field(event, EVENT_WALL);
    CHECK_NEAR(field_double(&wall),
               1794744000 + (double)run_iteration(run, 3)->start_ns / 1e9,
               1e-6);
    str_release(&file);
    run_free(run);
}

TEST(stages_are_scalars_under_their_names)
{
    struct run *run = made_model(4);
    struct str file = written(run, NULL, 0);
    struct span event;
    struct span value =
        find_value(&file, "stage_ms/model", VALUE_SIMPLE, 3, &event);
    struct field_seen number = message_field(value, VALUE_SIMPLE);

    CHECK_NEAR((double)field_float(&number), 80, 1e-3);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 3);
    str_release(&file);
    run_free(run);
}

/* made_model(): backbone takes 60 ms, its body 44; conv1 is a level too deep.
 */
TEST(the_first_two_levels_of_the_model_are_scalars_below_its_name)
{
    struct run *run = made_model(4);
    struct str file = written(run, NULL, 0);
    struct span event;
    struct field_seen number = message_field(
        find_value(&file, "model_ms/backbone", VALUE_SIMPLE, 3, &event),
        VALUE_SIMPLE);

    CHECK_NEAR((double)field_float(&number), 60, 1e-3);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 3);
    number = message_field(
        find_value(&file, "model_ms/backbone.body", VALUE_SIMPLE, 0, &event),
        VALUE_SIMPLE);
    CHECK_NEAR((double)field_float(&number), 44, 1e-3);
    CHECK_INT(find_value(&file, "model_ms/backbone.body.conv1", VALUE_SIMPLE, 0,
                         &event)
                  .n,
              0);
    str_release(&file);
    run_free(run);
}

/* The table that `assay show --md` writes has up to 18 columns. */
TEST(the_text_has_stages_and_levels_in_five_columns)
{
    struct run *run = made_model(4);
    struct str file = written(run, NULL, 0), text = {0};
    struct span event, tensor;
    struct field_seen words;
    size_t bars = 0, lines = 0;

    tensor = find_value(&file, "profile/text", VALUE_TENSOR, 0, &event);
    words = message_field(message_field(tensor, VALUE_TENSOR).bytes, 8);
    CHECK_INT(str_append_n(&text, (const char *)words.bytes.at, words.bytes.n),
              ASSAY_OK);
    CHECK_HAS(text.text, "| module | total ms | self ms | share | calls |\n");
    CHECK_HAS(text.text, "\n| model | 80.0 | 0.4 | 80 % | 1 |\n");
    CHECK_HAS(text.text, "\n| model.backbone.body | 44.0 | 0.6 | 44 % | 1 |\n");
    CHECK_HAS(text.text, "Most time in itself");
    CHECK_HAS(text.text, "\n| model.backbone.body.conv1 | 40.0 ");
    for (const char *at = text.text; *at; at++) {
        bars += *at == '|';
        lines += at[0] == '\n' && at[1] == '|';
    }
    CHECK_INT(bars, 6 * lines);
    str_release(&text);
    str_release(&file);
    run_free(run);
}

TEST(series_are_scalars_in_the_group_of_their_name)
{
    struct run *run = made_detector();
    struct error err = {0};
    struct str file;
    struct span event, value;
    struct field_seen number;
    uint32_t id;

    OK(run_series_add(run, "content.detections", "", &id, &err));
    OK(run_series_put(run, id, 2, 97, &err));
    file = written(run, NULL, 0);
    value = find_value(&file, "content/detections", VALUE_SIMPLE, 0, &event);
    number = message_field(value, VALUE_SIMPLE);
    CHECK_NEAR((double)field_float(&number), 97, 0);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 2);
    str_release(&file);
    run_free(run);
}

static double sum_of_doubles(struct span packed)
{
    double sum = 0;

    for (size_t i = 0; i + 8 <= packed.n; i += 8) {
        double value;

        memcpy(&value, packed.at + i, 8);
        sum += value;
    }
    return sum;
}

/* 96 98 99 100 100 100 100 101 102 104. */
TEST(the_histogram_counts_every_latency_once)
{
    struct run *run = made_detector();
    struct str file = written(run, NULL, 0);
    struct span event;
    struct span value =
        find_value(&file, "latencies_ms", VALUE_HISTOGRAM, 0, &event);
    struct span histogram = message_field(value, VALUE_HISTOGRAM).bytes;
    struct field_seen min = message_field(histogram, 1);
    struct field_seen max = message_field(histogram, 2);
    struct field_seen num = message_field(histogram, 3);
    struct field_seen sum = message_field(histogram, 4);
    struct field_seen limits = message_field(histogram, 6);
    struct field_seen counts = message_field(histogram, 7);

    CHECK_NEAR(field_double(&min), 96, 1e-9);
    CHECK_NEAR(field_double(&max), 104, 1e-9);
    CHECK_NEAR(field_double(&num), 10, 0);
    CHECK_NEAR(field_double(&sum), 1000, 1e-6);
    CHECK_INT(limits.bytes.n, counts.bytes.n);
    CHECK_NEAR(sum_of_doubles(counts.bytes), 10, 0);
    str_release(&file);
    run_free(run);
}

TEST(the_profile_is_a_text_and_an_image_of_the_right_size)
{
    struct run *run = made_detector();
    struct error err = {0};
    struct str file = written(run, NULL, 0);
    struct span event, image, tensor;
    struct field_seen words, png, plugin;
    struct picture picture = {0};

    tensor = find_value(&file, "profile/text", VALUE_TENSOR, 0, &event);
    plugin = message_field(
        message_field(message_field(tensor, VALUE_METADATA).bytes, 1).bytes, 1);
    CHECK(field_is(&plugin, "text"));
    words = message_field(message_field(tensor, VALUE_TENSOR).bytes, 8);
    CHECK(memmem(words.bytes.at, words.bytes.n, "conv1", 5) != NULL);
    image = message_field(
                find_value(&file, "profile/table", VALUE_IMAGE, 0, &event),
                VALUE_IMAGE)
                .bytes;
    png = message_field(image, 4);
    OK(picture_decode(png.bytes.at, png.bytes.n, "table", PICTURE_MAX_PIXELS,
                      &picture, &err));
    CHECK_INT(picture.height, message_field(image, 1).varint);
    CHECK_INT(picture.width, message_field(image, 2).varint);
    picture_release(&picture);
    str_release(&file);
    run_free(run);
}

TEST(photographs_are_images_under_their_names)
{
    const struct event_picture picture = {"street.jpg", 640, 480, "JPEG", 4};
    struct run *run = made_detector();
    struct str file = written(run, &picture, 1);
    struct span event;
    struct span value =
        find_value(&file, "photographs/street.jpg", VALUE_IMAGE, 0, &event);
    struct span image = message_field(value, VALUE_IMAGE).bytes;
    struct field_seen bytes = message_field(image, 4);

    CHECK_INT(message_field(image, 1).varint, 480);
    CHECK_INT(message_field(image, 2).varint, 640);
    CHECK_INT(message_field(image, 3).varint, 3);
    CHECK(field_is(&bytes, "JPEG"));
    str_release(&file);
    run_free(run);
}

TEST(a_run_without_iterations_still_has_its_table)
{
    struct run *run = made_pipeline();
    struct str file = written(run, NULL, 0);
    struct span event;

    CHECK(find_value(&file, "profile/table", VALUE_IMAGE, 0, &event).n > 0);
    CHECK(find_value(&file, "latency_ms", VALUE_SIMPLE, 0, &event).n == 0);
    str_release(&file);
    run_free(run);
}

/* A training with 3 warm-up steps and more after them, resumed at step 101. */
static struct run *made_training(void)
{
    struct run *run = made_detector();
    struct error err = {0};
    uint32_t loss, wait;

    OK(run_fact_set(run, "training.first_step", "101", &err));
    run_health(run)->warm_up = 3;
    OK(run_series_add(run, "train.loss", "", &loss, &err));
    OK(run_series_add(run, "data.wait", "ms", &wait, &err));
    for (uint32_t i = 0; i < 6; i++)
        OK(run_series_put(run, loss, 100 + i, 6 - i, &err));
    for (uint32_t i = 0; i < 3; i++)
        OK(run_series_put(run, wait, i, i, &err));
    return run;
}

static void check_steps(const struct str *file, const char *tag, size_t n,
                        uint64_t first)
{
    struct span event;

    for (size_t i = 0; i < n; i++) {
        CHECK(find_value(file, tag, VALUE_SIMPLE, i, &event).n > 0);
        CHECK_INT(message_field(event, EVENT_STEP).varint, first + i);
    }
}

TEST(steps_count_from_the_first_of_the_training)
{
    struct run *run = made_training();
    struct str file = written(run, NULL, 0);
    struct span event;

    check_steps(&file, "train/loss", 6, 101);
    check_steps(&file, "data/wait", 3, 104); /* after the warm-up */
    check_steps(&file, "latency_ms", 10, 104);
    /* What is about the whole run is at the last step. */
    CHECK(find_value(&file, "latencies_ms", VALUE_HISTOGRAM, 0, &event).n > 0);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 113);
    CHECK(find_value(&file, "profile/table", VALUE_IMAGE, 0, &event).n > 0);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 113);
    str_release(&file);
    run_free(run);
}

/* Read back after every call, as TensorBoard would: nothing is held back. */
TEST(a_live_file_grows_with_every_step)
{
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff, 0xd9};
    const struct event_picture picture = {"cat.jpg", 4, 2, jpeg, sizeof jpeg};
    const char *path = test_path("events.out.tfevents.1.a-training");
    struct live_events *events = NULL;
    struct error err = {0};
    struct str text = {0};
    struct span event;

    OK(live_events_open(path, 100, &events, &err));
    for (uint64_t step = 7; step < 10; step++) {
        const struct live_value values[] = {{"train/loss", 1.0 / (double)step},
                                            {"train/wait_ms", 2}};

        OK(live_events_put(events, step, 100 + (double)step, values, 2, &err));
        str_release(&text);
        OK(file_read(path, 1 << 20, &text, &err));
        CHECK(
            find_value(&text, "train/loss", VALUE_SIMPLE, step - 7, &event).n >
            0);
        CHECK_INT(message_field(event, EVENT_STEP).varint, step);
        CHECK(find_value(&text, "train/wait_ms", VALUE_SIMPLE, step - 7, &event)
                  .n > 0);
        CHECK_INT(
            find_value(&text, "train/loss", VALUE_SIMPLE, step - 6, &event).n,
            0);
    }
    OK(live_events_show(events, 9, 110, &picture, &err));
    str_release(&text);
    OK(file_read(path, 1 << 20, &text, &err));
    CHECK(find_value(&text, "photographs/cat.jpg", VALUE_IMAGE, 0, &event).n >
          0);
    CHECK_INT(message_field(event, EVENT_STEP).varint, 9);
    live_events_close(events);
    str_release(&text);
}

TEST(a_live_file_without_any_event_is_not_left_behind)
{
    struct live_events *events = NULL;
    const char *path = test_path("none.events");
    struct error err = {0};

    OK(live_events_open(path, 100, &events, &err));
    CHECK_INT(access(path, R_OK), 0);
    live_events_close(events);
    CHECK(access(path, R_OK) != 0);
}

TEST(a_live_file_that_cannot_be_made_is_named)
{
    struct live_events *events = NULL;
    struct error err = {0};

    CHECK_INT(live_events_open("/nowhere/at/all", 0, &events, &err),
              ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "/nowhere/at/all");
    CHECK(!events);
}
