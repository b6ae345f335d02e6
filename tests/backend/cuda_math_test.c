/* The engine's arithmetic on a GPU (backend/host_math.h) against the host's,
 * and gradients that are added up there. */
#include "backend/backend.h"
#include "base/random.h"
#include "graph/graph.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

struct scene {
    const struct device *gpu;
    struct pool *host, *there;
    struct graph *graph;
    struct backend *backend;
    struct op_context context;
    struct random random;
};

static struct scene scene_new(void)
{
    struct scene scene = {.random = random_seed(1)};
    struct backend_options options = {.n_threads = 1, .is_training = true};

    err = (struct error){0};
    if (device_find("cuda:0", &scene.gpu, &err))
        SKIP("%s", err.text);
    CHECK_INT(pool_new(&scene.host, &err), ASSAY_OK);
    CHECK_INT(pool_new_in(scene.gpu->space, &scene.there, &err), ASSAY_OK);
    CHECK_INT(graph_new(&scene.graph, &err), ASSAY_OK);
    CHECK_STATUS(scene.gpu->backend->make(scene.gpu, scene.graph, &options,
                                          &scene.backend, &err),
                 ASSAY_OK, &err);
    scene.context = (struct op_context){.pool = scene.there, .n_threads = 1};
    return scene;
}

static void scene_free(struct scene *scene)
{
    scene->gpu->backend->free(scene->backend);
    graph_free(scene->graph);
    pool_free(scene->there);
    pool_free(scene->host);
}

/* The same numbers on the host and on the GPU. */
struct both {
    struct tensor host, there;
};

static struct both both_new(struct scene *scene, const struct shape *shape)
{
    struct both both;

    CHECK_INT(tensor_new(scene->host, DTYPE_F32, shape, &both.host, &err),
              ASSAY_OK);
    for (size_t i = 0; i < tensor_elements(&both.host); i++)
        tensor_f32(&both.host)[i] = (float)random_normal(&scene->random);
    CHECK_STATUS(tensor_copy(scene->there, &both.host, &both.there, &err),
                 ASSAY_OK, &err);
    return both;
}

static void both_release(struct both *both)
{
    tensor_release(&both->host);
    tensor_release(&both->there);
}

/* More tensors than one launch takes, some of them empty. */
TEST(the_squares_of_many_tensors_have_the_hosts_sum)
{
    enum { n = 300 };
    struct scene scene = scene_new();
    struct both all[n];
    const struct tensor *host[n], *there[n];
    double want, got;

    for (size_t i = 0; i < n; i++) {
        struct shape shape = shape_of(1, (int64_t)(i % 7 * i * 13));

        all[i] = both_new(&scene, &shape);
        host[i] = &all[i].host;
        there[i] = &all[i].there;
    }
    CHECK_INT(host_math.square_sum(scene.backend, &scene.context, host, n,
                                   &want, &err),
              ASSAY_OK);
    CHECK_STATUS(
        backend_math(scene.backend)
            ->square_sum(scene.backend, &scene.context, there, n, &got, &err),
        ASSAY_OK, &err);
    CHECK(want > 0);
    CHECK_NEAR(got / want, 1, 1e-12);
    for (size_t i = 0; i < n; i++)
        both_release(&all[i]);
    scene_free(&scene);
}

/* A sum that others refer to is not changed for them. */
TEST(gradients_add_up_in_memory_of_their_own)
{
    struct scene scene = scene_new();
    struct shape shape =
        shape_of(4, (int64_t)2, (int64_t)5, (int64_t)3, (int64_t)7);
    struct both a = both_new(&scene, &shape), b = both_new(&scene, &shape);
    struct tensor sum = tensor_share(&a.there), back, kept;

    CHECK_STATUS(scene.backend->class->accumulate(scene.backend, &scene.context,
                                                  &sum, &b.there, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(tensor_copy(scene.host, &sum, &back, &err), ASSAY_OK, &err);
    CHECK_STATUS(tensor_copy(scene.host, &a.there, &kept, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < tensor_elements(&back); i++)
        CHECK_NEAR(tensor_f32(&back)[i],
                   tensor_f32(&a.host)[i] + tensor_f32(&b.host)[i], 0);
    CHECK(memcmp(tensor_data(&kept), tensor_data(&a.host),
                 tensor_bytes(&kept)) == 0);
    tensor_release(&kept);
    tensor_release(&back);
    tensor_release(&sum);
    both_release(&a);
    both_release(&b);
    scene_free(&scene);
}
