/* tests/backend/cuda_rooms_test.c - which results of a detector are lists in a
 * recorded pass on a GPU, and what counts them. Needs none. */
#include "backend/cuda/cuda_internal.h"
#include "engine/engine_internal.h"
#include "models/models.h"
#include "test.h"

#include <string.h>

enum { most_values = 2048, n_images = 3 };

static struct error err;

/* What is known of the rows of a detector's values. */
static struct graph *rows_of(const char *model, struct value_rows *rows)
{
    struct model_options options = model_defaults();
    struct backend backend = {.class = &backend_cuda};
    struct engine engine = {.backend = &backend};
    struct graph *graph;

    options.n_images = n_images;
    CHECK_STATUS(model_build(model, &options, &graph, &err), ASSAY_OK, &err);
    CHECK(graph_value_count(graph) <= most_values);
    engine.graph = graph;
    CHECK(engine_rows_find(&engine, rows));
    return graph;
}

static uint32_t output_named(const struct graph *graph, const char *wanted)
{
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        const char *name;
        uint32_t value = graph_output_at(graph, i, &name);

        if (strcmp(name, wanted) == 0)
            return value;
    }
    fail_msg("there is no output '%s'", wanted);
    return GRAPH_NONE;
}

TEST(every_result_of_a_detector_is_a_list_with_a_count_or_fixed)
{
    static const char *const models[] = {"faster-rcnn", "mask-rcnn"};

    for (size_t i = 0; i < 2; i++) {
        static struct value_rows rows[most_values];
        struct graph *graph;

        memset(rows, 0, sizeof rows);
        graph = rows_of(models[i], rows);
        for (size_t k = 0; k < graph_output_count(graph); k++)
            CHECK(!rows[graph_output_at(graph, k, NULL)].is_unknown);
        CHECK(!rows[output_named(graph, "counts")].is_list);
        graph_free(graph);
    }
}

TEST(detections_are_counted_together_and_masks_by_image)
{
    static struct value_rows rows[most_values];
    struct graph *graph = rows_of("mask-rcnn", rows);
    uint32_t counts = output_named(graph, "counts");
    static const char *const lists[] = {"boxes", "scores", "labels"};
    static const char *const masks[] = {"masks_0", "masks_1", "masks_2"};

    for (size_t i = 0; i < 3; i++) {
        const struct value_rows *list = &rows[output_named(graph, lists[i])];
        const struct value_rows *mask = &rows[output_named(graph, masks[i])];

        CHECK(list->is_list && mask->is_list);
        CHECK_INT(list->counts, counts);
        CHECK_INT(mask->counts, counts);
        CHECK_INT(list->image, -1);
        CHECK_INT(mask->image, i);
    }
    graph_free(graph);
}
