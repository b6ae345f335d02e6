/* What session/stream.h promises, on a device that runs late: photographs are
 * decoded ahead, results are those of one pass at a time, and a failure is that
 * of its photograph. */
#include "session/stream.h"

#include "backend/far.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/small_graph.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

enum { most_photos = 7, white = 255 };

struct studio {
    struct far_device *far;
    struct small small;
    struct session session;
    struct tensor output;
    struct intake intake;
    const char *paths[most_photos];
    struct profile_options profile;
    volatile sig_atomic_t stop;
};

static enum assay_status infer_picture(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *error)
{
    (void)node, (void)error;
    outputs[0].dtype = DTYPE_F32;
    outputs[0].shape = inputs[0]->shape;
    return ASSAY_OK;
}

/* How often a white photograph is fine. */
static atomic_int patience;

/* Fails on a photograph that is white. */
static enum assay_status refuse_white(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs,
                                      struct error *error)
{
    (void)context, (void)node;
    memcpy(tensor_data(&outputs[0]), tensor_data(inputs[0]),
           tensor_bytes(inputs[0]));
    return *tensor_f32(inputs[0]) >= 1 && atomic_fetch_sub(&patience, 1) <= 0
               ? error_set(error, ASSAY_BAD_INPUT, "too bright")
               : ASSAY_OK;
}

static const struct op_class shy_op = {.name = "Shy",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .min_outputs = 1,
                                       .max_outputs = 1,
                                       .infer = infer_picture,
                                       .forward = refuse_white};

static void write_photo(const char *path, int width, int height, uint8_t grey)
{
    struct picture picture;
    struct output *output;

    CHECK_STATUS(picture_init(&picture, width, height, &err), ASSAY_OK, &err);
    memset(picture.rgb, grey, (size_t)width * (size_t)height * 3);
    CHECK_STATUS(output_open(path, &output, &err), ASSAY_OK, &err);
    CHECK_STATUS(picture_write_png(&picture, output_sink(output), &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(output_commit(output, &err), ASSAY_OK, &err);
    picture_release(&picture);
}

/* Photographs of several sizes, each with a grey of its own. */
static void studio_open(struct studio *studio, size_t n_photos)
{
    struct engine_options options = {.may_replay = true};
    uint32_t x;

    err = (struct error){0};
    *studio =
        (struct studio){.far = far_device_new(NULL), .small = small_new()};
    options.device = far_device(studio->far);
    x = small_input(&studio->small);
    x = small_op(&studio->small, &shy_op, GRAPH_NONE, "shy", x);
    small_output(&studio->small,
                 small_op(&studio->small, &op_relu, GRAPH_NONE, "relu", x));
    studio->session = (struct session){.pool = studio->small.pool,
                                       .graph = studio->small.graph,
                                       .outputs = &studio->output,
                                       .n_outputs = 1};
    for (int i = 0; i < N_SESSION_KEPT; i++)
        studio->session.kept[i] = GRAPH_NONE;
    CHECK_STATUS(engine_new(studio->small.graph, studio->small.pool, &options,
                            &studio->session.engine, &err),
                 ASSAY_OK, &err);
    for (size_t i = 0; i < n_photos; i++) {
        char name[32];

        snprintf(name, sizeof name, "photo%zu.png", i);
        studio->paths[i] = strdup(test_path(name));
        write_photo(studio->paths[i], 5 + (int)(i % 3), 4,
                    (uint8_t)(20 * (i + 1)));
    }
    studio->intake = (struct intake){.paths = studio->paths, .n = n_photos};
    studio->profile.session.vision.decode = DECODE_NONE;
    studio->profile.stop = &studio->stop;
}

static void studio_close(struct studio *studio)
{
    tensor_release(&studio->output);
    engine_free(studio->session.engine);
    small_free(&studio->small);
    far_device_free(studio->far);
    for (size_t i = 0; i < studio->intake.n; i++)
        free((void *)(uintptr_t)studio->paths[i]);
}

static enum assay_status studio_stream(struct studio *studio,
                                       size_t n_in_flight, uint64_t n_least,
                                       struct stream_result *result)
{
    struct stream_options options = {.session = &studio->session,
                                     .profile = &studio->profile,
                                     .intake = &studio->intake,
                                     .batch = 1,
                                     .n_in_flight = n_in_flight,
                                     .n_least = n_least};

    err = (struct error){0};
    return stream_run(&options, result, &err);
}

static void check_streamed(const struct stream_result *result, uint64_t n)
{
    const struct stream_books *books = &result->books;

    CHECK_INT(result->n_passes, n);
    CHECK_INT(result->n_images, n);
    CHECK_INT(result->n_one_by_one, 0);
    CHECK(result->latency_ns > 0 && result->p95_ns >= result->latency_ns);
    CHECK(result->n_threads >= 1);
    CHECK(books->busy_ns > 0);
    CHECK_INT(books->busy_ns + stream_books_idle_ns(books),
              books->ended_ns - books->began_ns);
}

TEST(streamed_results_are_those_of_one_pass_at_a_time)
{
    struct stream_result result;
    struct studio studio;

    studio_open(&studio, most_photos);
    for (size_t n = 1; n <= 4; n++) {
        CHECK_STATUS(studio_stream(&studio, n, 20, &result), ASSAY_OK, &err);
        CHECK_INT(result.n_in_flight, n);
        CHECK_INT(result.n_compared, most_photos);
        CHECK_INT(result.n_same, most_photos);
        check_streamed(&result, 20);
        CHECK_INT(engine_in_flight(studio.session.engine), 0);
    }
    studio_close(&studio);
}

TEST(fewer_photographs_than_passes_in_flight_are_gone_round)
{
    struct stream_result result;
    struct studio studio;

    studio_open(&studio, 1);
    CHECK_STATUS(studio_stream(&studio, 5, 3, &result), ASSAY_OK, &err);
    CHECK_INT(result.n_same, 1);
    check_streamed(&result, 3);
    studio_close(&studio);
}

TEST(a_photograph_that_went_away_ends_the_stream_with_its_name)
{
    struct stream_result result;
    struct studio studio;

    studio_open(&studio, most_photos);
    CHECK_INT(unlink(studio.paths[4]), 0);
    CHECK(studio_stream(&studio, 2, 20, &result));
    CHECK_HAS(err.text, "photo4.png");
    CHECK_INT(engine_in_flight(studio.session.engine), 0);
    studio_close(&studio);
}

TEST(a_pass_that_fails_in_flight_is_that_of_its_photograph)
{
    struct stream_result result;
    struct studio studio;

    studio_open(&studio, most_photos);
    CHECK_STATUS(studio_stream(&studio, 3, 20, &result), ASSAY_OK, &err);
    write_photo(studio.paths[3], 5, 4, white);
    for (int i = 0; i < 5; i++) { /* at once, or in one of the rounds */
        atomic_store(&patience, i);
        CHECK_INT(studio_stream(&studio, 3, 20, &result), ASSAY_BAD_INPUT);
        CHECK_HAS(err.text, "photo3.png");
        CHECK_HAS(err.text, "too bright");
        CHECK_INT(engine_in_flight(studio.session.engine), 0);
    }
    write_photo(studio.paths[3], 5, 4, 1);
    CHECK_STATUS(studio_stream(&studio, 3, 20, &result), ASSAY_OK, &err);
    check_streamed(&result, 20);
    studio_close(&studio);
}

TEST(a_stream_without_memory_fails_and_leaves_nothing_in_flight)
{
    struct stream_result result;
    struct studio studio;
    int n_failed = 0;

    studio_open(&studio, most_photos);
    for (long nth = 0; nth < 300; nth += 7) {
        enum assay_status st;

        mem_fail_at(nth);
        st = studio_stream(&studio, 2, 10, &result);
        mem_fail_at(-1);
        CHECK(!st || st == ASSAY_NOMEM);
        n_failed += st == ASSAY_NOMEM;
        CHECK_INT(engine_in_flight(studio.session.engine), 0);
    }
    CHECK(n_failed > 3);
    CHECK_STATUS(studio_stream(&studio, 2, 10, &result), ASSAY_OK, &err);
    CHECK_INT(result.n_same, most_photos);
    studio_close(&studio);
}

TEST(a_stream_that_is_stopped_leaves_nothing_in_flight)
{
    struct stream_result result;
    struct studio studio;

    studio_open(&studio, most_photos);
    studio.stop = 1;
    CHECK_STATUS(studio_stream(&studio, 2, 20, &result), ASSAY_OK, &err);
    CHECK_INT(result.n_passes, 0);
    CHECK_INT(engine_in_flight(studio.session.engine), 0);
    studio_close(&studio);
}

/* ---- decoding ahead --------------------------------------------------------
 */

TEST(photographs_come_in_order_whichever_thread_decoded_them)
{
    struct ahead_options options = {.batch = 2, .n_held = 3, .n_threads = 4};
    struct frame *held[3];
    struct studio studio;
    struct ahead *ahead;

    studio_open(&studio, most_photos);
    options.intake = &studio.intake;
    options.session = &studio.session;
    CHECK_STATUS(ahead_new(&options, &ahead, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < 30; i++) {
        struct frame **frame = &held[i % 3];

        if (i >= 3)
            ahead_give(ahead, *frame);
        CHECK_STATUS(ahead_take(ahead, frame, &err), ASSAY_OK, &err);
        for (size_t k = 0; k < 2; k++) {
            size_t photo = (2 * i + k) % most_photos;

            CHECK_STR((*frame)->paths[k], studio.paths[photo]);
            CHECK_INT((*frame)->pictures[k].rgb[0], 20 * (photo + 1));
            CHECK_INT((*frame)->tensors[k].dtype, DTYPE_U8);
        }
    }
    ahead_free(ahead); /* with three that are held */
    studio_close(&studio);
}

/* The thread that computes says whose it is what it takes, and the threads that
 * decode take from the same pool. */
TEST(photographs_made_ahead_change_no_owner_of_what_is_taken_meanwhile)
{
    struct side_input side = {.dtype = DTYPE_F32};
    struct shape shape =
        shape_of(4, (int64_t)2, (int64_t)3, (int64_t)4, (int64_t)4);
    struct ahead_options options = {.batch = 2, .n_held = 1, .n_threads = 4};
    struct studio studio;
    struct ahead *ahead;
    struct frame *frame;

    studio_open(&studio, most_photos);
    studio.session.inputs = (struct model_inputs){.kind = INPUTS_BATCH,
                                                  .recipe = recipe_defaults(),
                                                  .shapes = &shape,
                                                  .sides = &side,
                                                  .n = 1};
    studio.session.inputs.recipe.width = 4;
    studio.session.inputs.recipe.height = 4;
    options.intake = &studio.intake;
    options.session = &studio.session;
    CHECK_STATUS(ahead_new(&options, &ahead, &err), ASSAY_OK, &err);
    for (uint32_t i = 0; i < 1000; i++) {
        struct pool *pool = studio.session.pool;
        uint32_t before = pool_set_owner(pool, OWNER_MODULE + i % 8);
        struct buffer *buffer;

        CHECK_INT(before, OWNER_OTHER);
        CHECK_STATUS(pool_take(pool, 100, "x", &buffer, &err), ASSAY_OK, &err);
        CHECK_INT(buffer_owner(buffer), OWNER_MODULE + i % 8);
        CHECK_INT(pool_set_owner(pool, before), OWNER_MODULE + i % 8);
        buffer_release(buffer);
        CHECK_STATUS(ahead_take(ahead, &frame, &err), ASSAY_OK, &err);
        CHECK_INT(buffer_owner(frame->tensors[0].buffer), OWNER_IMAGES);
        ahead_give(ahead, frame);
    }
    ahead_free(ahead);
    studio_close(&studio);
}

/* ---- the books -------------------------------------------------------------
 */

TEST(idle_time_is_that_of_what_the_host_did_meanwhile)
{
    struct stream_books books;

    stream_books_begin(&books, 100);
    stream_books_host(&books, IDLE_PHOTOGRAPH, 100, 140);
    stream_books_host(&books, IDLE_LAUNCH, 140, 150);
    stream_books_host(&books, IDLE_COPY, 150, 200);
    stream_books_pass(&books, 155, 190); /* idle for 40, 10 and 5 */
    stream_books_pass(&books, 190, 230); /* follows at once */
    stream_books_host(&books, IDLE_HOST, 200, 240);
    stream_books_host(&books, IDLE_PHOTOGRAPH, 240, 300);
    stream_books_pass(&books, 305, 320); /* 10, 60, and 5 of nobody */
    stream_books_end(&books, 330);
    CHECK_INT(books.busy_ns, 35 + 40 + 15);
    CHECK_INT(books.reasons_ns[IDLE_PHOTOGRAPH], 40 + 60);
    CHECK_INT(books.reasons_ns[IDLE_LAUNCH], 10);
    CHECK_INT(books.reasons_ns[IDLE_COPY], 5);
    CHECK_INT(books.reasons_ns[IDLE_HOST], 10 + 5 + 10);
    CHECK_INT(stream_books_idle_ns(&books) + books.busy_ns, 230);
}

TEST(passes_that_overlap_by_their_clock_are_not_counted_twice)
{
    struct stream_books books;

    stream_books_begin(&books, 0);
    stream_books_pass(&books, 10, 30);
    stream_books_pass(&books, 25, 40);
    stream_books_pass(&books, 30, 35);
    stream_books_end(&books, 38); /* before the device's clock */
    CHECK_INT(books.busy_ns, 30);
    CHECK_INT(stream_books_idle_ns(&books), 10);
    CHECK_INT(books.ended_ns, 40);
}
