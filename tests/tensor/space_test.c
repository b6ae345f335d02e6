/* What tensor/space.h and pools over other spaces promise, tried on memory that
 * the host cannot touch. */
#include "base/mem.h"
#include "tensor/far_space.h"
#include "tensor/tensor.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { far_bytes = 1 << 24 };

static struct error err;

struct scene {
    struct far *far;
    struct pool *here, *there;
};

static struct scene scene_open(void)
{
    struct scene scene = {.far = far_new("far", far_bytes)};

    err = (struct error){0};
    CHECK(scene.far != NULL);
    CHECK_STATUS(pool_new(&scene.here, &err), ASSAY_OK, &err);
    CHECK_STATUS(pool_new_in(far_space(scene.far), &scene.there, &err),
                 ASSAY_OK, &err);
    return scene;
}

static void scene_close(struct scene *scene)
{
    pool_free(scene->here);
    pool_free(scene->there);
    CHECK_INT(far_live_bytes(scene->far), 0);
    far_free(scene->far);
}

static struct tensor four_numbers(struct pool *pool, float first)
{
    struct shape shape = shape_of(1, (int64_t)4);
    struct tensor tensor;

    CHECK_STATUS(tensor_new(pool, DTYPE_F32, &shape, &tensor, &err), ASSAY_OK,
                 &err);
    for (int i = 0; i < 4; i++)
        tensor_f32(&tensor)[i] = first + (float)i;
    return tensor;
}

static struct tensor moved(struct pool *pool, const struct tensor *from)
{
    struct tensor copy;

    CHECK_STATUS(tensor_copy(pool, from, &copy, &err), ASSAY_OK, &err);
    return copy;
}

TEST(a_tensor_goes_to_another_space_and_comes_back)
{
    struct scene scene = scene_open();
    struct tensor here = four_numbers(scene.here, 5);
    struct tensor there = moved(scene.there, &here);
    struct tensor twin = moved(scene.there, &there);
    struct tensor back = moved(scene.here, &twin);

    CHECK(tensor_is_on_host(&here) && tensor_is_on_host(&back));
    CHECK(!tensor_is_on_host(&there) && !tensor_is_on_host(&twin));
    CHECK(buffer_space(there.buffer) == far_space(scene.far));
    CHECK(memcmp(tensor_data(&back), tensor_data(&here), 16) == 0);
    tensor_release(&here);
    tensor_release(&there);
    tensor_release(&twin);
    tensor_release(&back);
    scene_close(&scene);
}

TEST(the_host_dies_of_touching_memory_of_another_space)
{
    struct scene scene = scene_open();
    struct tensor here = four_numbers(scene.here, 5);
    struct tensor there = moved(scene.there, &here);
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile float *)tensor_data(&there) == 5 ? 0 : 1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    tensor_release(&here);
    tensor_release(&there);
    scene_close(&scene);
}

struct sum_job {
    struct far *far;
    const void *from;
    void *to;
};

static enum assay_status sum_run(void *context, struct error *failed)
{
    const struct sum_job *job = context;
    const float *from = far_near(job->far, job->from);
    float *to = far_near(job->far, job->to);

    (void)failed;
    *to = from[0] + from[1] + from[2] + from[3];
    return ASSAY_OK;
}

static void queue_sum(struct scene *scene, const struct tensor *from,
                      const struct tensor *to)
{
    struct sum_job *job = mem_alloc(sizeof *job);

    CHECK(job != NULL);
    *job = (struct sum_job){scene->far, tensor_data(from), tensor_data(to)};
    CHECK_STATUS(far_queue(scene->far, 1, sum_run, job, mem_free, &err),
                 ASSAY_OK, &err);
}

TEST(memory_goes_to_its_next_user_while_a_kernel_still_reads_it)
{
    struct scene scene = scene_open();
    struct tensor here = four_numbers(scene.here, 1);
    struct tensor other = four_numbers(scene.here, 100);
    struct tensor sum = moved(scene.there, &here), back;

    for (int i = 0; i < 50; i++) {
        struct tensor there = moved(scene.there, &here);
        const void *first = tensor_data(&there);

        queue_sum(&scene, &there, &sum);
        tensor_release(&there);
        there = moved(scene.there, &other); /* before the sum was taken */
        CHECK(tensor_data(&there) == first);
        tensor_release(&there);
        pool_trim(scene.there);
        back = moved(scene.here, &sum);
        CHECK_NEAR(*tensor_f32(&back), 10, 0);
        tensor_release(&back);
    }
    tensor_release(&here);
    tensor_release(&other);
    tensor_release(&sum);
    scene_close(&scene);
}

static enum assay_status fail_run(void *context, struct error *failed)
{
    (void)context;
    return error_set(failed, ASSAY_BAD_INPUT, "the kernel met a %s", "hole");
}

TEST(a_kernel_that_failed_fails_the_next_copy_to_the_host)
{
    struct scene scene = scene_open();
    struct tensor here = four_numbers(scene.here, 1);
    struct tensor there = moved(scene.there, &here), back;

    CHECK_STATUS(far_queue(scene.far, 1, fail_run, NULL, NULL, &err), ASSAY_OK,
                 &err);
    CHECK_INT(tensor_copy(scene.here, &there, &back, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "the kernel met a hole");
    CHECK(!back.buffer);
    back = moved(scene.here, &there);
    tensor_release(&back);
    tensor_release(&here);
    tensor_release(&there);
    scene_close(&scene);
}

TEST(clearing_leaves_zeros_in_any_space)
{
    struct scene scene = scene_open();
    struct tensor here = four_numbers(scene.here, 1);
    struct tensor there = moved(scene.there, &here), back;

    CHECK_STATUS(tensor_clear(&there, &err), ASSAY_OK, &err);
    CHECK_STATUS(tensor_clear(&here, &err), ASSAY_OK, &err);
    back = moved(scene.here, &there);
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(tensor_f32(&back)[i], 0, 0);
        CHECK_NEAR(tensor_f32(&here)[i], 0, 0);
    }
    tensor_release(&here);
    tensor_release(&there);
    tensor_release(&back);
    scene_close(&scene);
}

TEST(a_pool_counts_what_its_own_space_hands_out)
{
    struct scene scene = scene_open();
    struct buffer *buffer;

    CHECK_STATUS(pool_take(scene.there, 5000, "a test", &buffer, &err),
                 ASSAY_OK, &err);
    CHECK_INT(pool_usage(scene.there).live_bytes, buffer_pool_bytes(buffer));
    CHECK(far_live_bytes(scene.far) >= pool_usage(scene.there).held_bytes);
    CHECK_INT(pool_usage(scene.here).live_bytes, 0);
    buffer_release(buffer);
    CHECK_INT(pool_usage(scene.there).live_bytes, 0);
    CHECK(far_live_bytes(scene.far) >= 5000); /* waits for reuse */
    scene_close(&scene);
}

TEST(a_space_without_room_says_how_much_was_asked_for)
{
    struct scene scene = scene_open();
    struct buffer *buffer;

    CHECK_INT(pool_take(scene.there, 2 * far_bytes, "a test", &buffer, &err),
              ASSAY_NOMEM);
    CHECK_HAS(err.text, "a test");
    CHECK(!buffer);
    scene_close(&scene);
}

TEST(wrapped_memory_is_counted_while_it_is_wrapped)
{
    struct scene scene = scene_open();
    size_t before = pool_usage(scene.here).wrapped_bytes;
    struct buffer *wrapped;
    char own[24];

    CHECK_STATUS(buffer_wrap(own, sizeof own, NULL, NULL, &wrapped, &err),
                 ASSAY_OK, &err);
    CHECK_INT(pool_usage(scene.here).wrapped_bytes, before + sizeof own);
    CHECK_INT(pool_usage(scene.there).wrapped_bytes, 0);
    CHECK_INT(pool_usage(scene.here).live_bytes, 0);
    buffer_release(wrapped);
    CHECK_INT(pool_usage(scene.here).wrapped_bytes, before);
    scene_close(&scene);
}

/* ---- a full device --------------------------------------------------------
 */

static void *full_take(struct space *space, size_t bytes)
{
    (void)space, (void)bytes;
    return NULL;
}

static bool full_room(struct space *space, size_t *free_bytes,
                      size_t *total_bytes)
{
    (void)space;
    *free_bytes = (size_t)3 << 20;
    *total_bytes = (size_t)1 << 30;
    return true;
}

TEST(a_device_without_memory_says_what_was_wanted_and_what_is_left)
{
    struct space full = {
        .name = "full:0", .take = full_take, .room = full_room};
    struct buffer *buffer;
    struct pool *pool;

    err = (struct error){0};
    CHECK_STATUS(pool_new_in(&full, &pool, &err), ASSAY_OK, &err);
    CHECK_INT(pool_take(pool, (size_t)5 << 20, "a map", &buffer, &err),
              ASSAY_NOMEM);
    CHECK_HAS(err.text, "5.0 MiB needed for a map");
    CHECK_HAS(err.text, "full:0 has 3 of 1024 MiB left");
    CHECK_HAS(err.text, "a smaller batch needs less");
    pool_free(pool);
}

TEST(a_pool_takes_no_more_of_a_space_than_its_limit)
{
    enum { piece = 1 << 20 };
    struct scene scene = scene_open();
    struct buffer *held[3] = {NULL};

    pool_set_limit(scene.there, 2 * piece);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(pool_take(scene.there, piece, "a piece", &held[i], &err),
                     ASSAY_OK, &err);
    CHECK_INT(pool_take(scene.there, piece, "a piece", &held[2], &err),
              ASSAY_NOMEM);
    buffer_release(held[0]); /* what waits is given back for it */
    err = (struct error){0};
    CHECK_STATUS(pool_take(scene.there, piece / 2, "less", &held[0], &err),
                 ASSAY_OK, &err);
    CHECK(pool_usage(scene.there).held_bytes <= 2 * piece);
    buffer_release(held[0]);
    buffer_release(held[1]);
    scene_close(&scene);
}

TEST(a_pool_that_holds_nothing_gives_back_what_it_took)
{
    struct scene scene = scene_open();
    struct buffer *held;

    pool_hold_nothing(scene.there);
    CHECK_STATUS(pool_take(scene.there, 70000, "a map", &held, &err), ASSAY_OK,
                 &err);
    CHECK_INT(pool_usage(scene.there).held_bytes, 137 * 512); /* no eighths */
    CHECK_INT(pool_usage(scene.there).live_bytes, 137 * 512);
    buffer_release(held);
    CHECK_INT(pool_usage(scene.there).held_bytes, 0);
    CHECK_INT(pool_usage(scene.there).cached_bytes, 0);
    CHECK_INT(far_live_bytes(scene.far), 0);
    scene_close(&scene);
}
