/* Network descriptions survive a round trip, and errors name the line. */
#include "formats/net/net.h"

#include "base/mem.h"
#include "formats/model_file.h"
#include "models/models.h"
#include "ops/attr_fields.h"
#include "ops/ops.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;
static struct pool *pool;

static const char small[] =
    "assay-net 1\n"
    "# a comment\n"
    "model tiny Tiny\n"
    "module stem Sequential container\n"
    "module stem.0 Conv2d\n"
    "input \"the image\" float32 ?x3x8x8\n"
    "parameter stem.0.weight float32 4x3x3x3 normal 0.5 frozen\n"
    "constant $0 int64 2 = 0 -1\n"
    "%0 = Conv2d(\"the image\", stem.0.weight, -, -) in stem.0 stride=1,1 "
    "dilation=1,1 before=1,1 after=1,1 groups=1 # 1x4x8x8\n"
    "%1 = Reshape(%0, $0) as rows\n"
    "output y %1\n";

static void open_pool(void)
{
    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
}

static struct graph *read_text(const char *text)
{
    struct graph *graph;

    CHECK_STATUS(net_read(text, strlen(text), pool, &graph, &err), ASSAY_OK,
                 &err);
    return graph;
}

static void write_text(const struct graph *graph, struct str *text)
{
    const struct net_notes notes = {0};
    struct sink sink = sink_to_str(text);

    CHECK_STATUS(net_write(graph, NULL, &notes, &sink, &err), ASSAY_OK, &err);
}

TEST(a_description_becomes_a_graph)
{
    const struct value *weight;
    const struct node *conv;
    struct graph *graph;

    open_pool();
    graph = read_text(small);
    CHECK_STR(graph_name(graph), "tiny");
    CHECK_INT(graph_input_shape(graph, 0)->dims[0], -1);
    CHECK_STR(graph_value(graph, graph_input_at(graph, 0))->name, "the image");
    weight = graph_value(graph, graph_find_value(graph, "stem.0.weight"));
    CHECK(weight->is_frozen);
    CHECK_INT(weight->fill, FILL_NORMAL);
    CHECK_STR(graph_scope(graph, weight->scope)->path, "stem.0");
    CHECK(graph_scope(graph, 0)->is_container);
    conv = graph_node(graph, 0);
    CHECK(conv->op == &op_conv2d);
    CHECK_INT(conv->inputs[2], GRAPH_NONE);
    CHECK_STR(graph_node(graph, 1)->name, "rows");
    graph_free(graph);
    pool_free(pool);
}

static void check_round(const char *name)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct str first = {0}, second = {0};
    struct graph *graph, *again;

    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    write_text(graph, &first);
    again = read_text(first.text);
    write_text(again, &second);
    CHECK_STR(second.text, first.text);
    CHECK_INT(graph_parameter_elements(again), graph_parameter_elements(graph));
    CHECK_INT(graph_node_count(again), graph_node_count(graph));
    graph_free(again);
    graph_free(graph);
    str_release(&first);
    str_release(&second);
}

TEST(every_model_of_the_zoo_survives_a_round_trip)
{
    open_pool();
    for (const char *const *name = model_names(); *name; name++)
        check_round(*name);
    pool_free(pool);
}

TEST(weights_are_in_a_file_next_to_the_description)
{
    const struct model_file_options options = {0};
    const struct net_notes notes = {0};
    struct graph *graph, *again;
    const struct value *want, *got;

    open_pool();
    graph = read_text(small);
    CHECK_STATUS(model_fill(graph, pool, 3, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_save(graph, test_path("tiny.net"), &notes, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(
        model_file_load(test_path("tiny.net"), &options, pool, &again, &err),
        ASSAY_OK, &err);
    want = graph_value(graph, graph_find_value(graph, "stem.0.weight"));
    got = graph_value(again, graph_find_value(again, "stem.0.weight"));
    CHECK(memcmp(tensor_data(&want->data), tensor_data(&got->data),
                 tensor_bytes(&want->data)) == 0);
    graph_free(again);
    graph_free(graph);

    CHECK_INT(remove(test_path("tiny.safetensors")), 0);
    CHECK_INT(net_load(test_path("tiny.net"), pool, &again, &err),
              ASSAY_NOT_FOUND);
    CHECK(again == NULL);
    CHECK_HAS(err.text, "tiny.safetensors");
    pool_free(pool);
}

TEST(a_chosen_shape_must_fit_an_input_that_exists)
{
    static const struct {
        const char *input;
        int64_t batch, channels;
        enum assay_status status;
        const char *text;
    } cases[] = {
        {"the image", 2, 3, ASSAY_OK, ""},
        {NULL, 2, 3, ASSAY_OK, ""},
        {"the image", 2, 4, ASSAY_BAD_INPUT, "which 2x4x8x8 contradicts"},
        {"images", 2, 3, ASSAY_BAD_USAGE, "first input is 'the image'"},
    };
    const struct net_notes notes = {.has_no_weights = true};
    struct graph *graph, *again;

    open_pool();
    graph = read_text(small);
    CHECK_STATUS(net_save(graph, test_path("tiny.net"), &notes, &err), ASSAY_OK,
                 &err);
    graph_free(graph);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_file_shape choice = {
            .input = cases[i].input,
            .shape = shape_of(4, cases[i].batch, cases[i].channels, (int64_t)8,
                              (int64_t)8)};
        struct model_file_options options = {.shapes = &choice, .n_shapes = 1};

        err = (struct error){0};
        CHECK_STATUS(model_file_load(test_path("tiny.net"), &options, pool,
                                     &again, &err),
                     cases[i].status, &err);
        CHECK_HAS(err.text, cases[i].text);
        CHECK(!again == (cases[i].status != ASSAY_OK));
        if (again)
            CHECK_INT(graph_input_shape(again, 0)->dims[0], 2);
        graph_free(again);
    }
    pool_free(pool);
}

/* ---- errors ---------------------------------------------------------------
 */

/* The text with one line replaced. */
static void check_refused(const char *old, const char *new, const char *part)
{
    struct graph *graph;
    struct str text = {0};
    const char *at = strstr(small, old);

    CHECK(at != NULL);
    CHECK_INT(str_append_n(&text, small, (size_t)(at - small)), 0);
    CHECK_INT(str_append(&text, new), 0);
    CHECK_INT(str_append(&text, at + strlen(old)), 0);
    err = (struct error){0};
    if (net_read(text.text, text.n, pool, &graph, &err) == ASSAY_OK)
        print_error("taken: %s\n", new);
    CHECK(graph == NULL);
    CHECK_HAS(err.text, part);
    str_release(&text);
}

TEST(errors_name_the_line_and_the_reason)
{
    open_pool();
    check_refused("assay-net 1", "assay-net 2", "version 2");
    check_refused("assay-net 1", "network", "not a network description");
    check_refused("model tiny Tiny", "layer x",
                  "line 3: expected model, weights");
    check_refused("model tiny Tiny", "model tiny",
                  "line 3: expected the model's class");
    check_refused("model tiny Tiny", "model tiny Tiny x",
                  "expected the end of the line, not 'x'");
    check_refused("module stem.0 Conv2d", "module stem Conv2d",
                  "line 5: there are two modules 'stem'");
    check_refused("float32 ?x3x8x8", "float8 ?x3x8x8",
                  "line 6: expected a type");
    check_refused("?x3x8x8", "?x3xx8", "such as 1x3x?x?, not");
    check_refused("4x3x3x3", "?x3x3x3", "such as 64x3x7x7, not");
    check_refused("4x3x3x3", "4x3x3x99999999999999999999", "shape");
    check_refused("normal 0.5", "gauss 0.5", "zero, one, normal");
    check_refused("normal 0.5", "normal much", "not 'much'");
    check_refused("= 0 -1", "= 0", "a number for each element");
    check_refused("= 0 -1", "= 0 -1 5",
                  "expected the end of the line, not '5'");
    check_refused("= 0 -1", "", "has no numbers");
    check_refused("Conv2d(\"", "Conv9d(\"", "expected an op of Assay");
    check_refused("-, -)", "-, -", "line 9");
    check_refused("stem.0.weight, -", "nothing, -",
                  "no line above makes the value 'nothing'");
    check_refused("in stem.0 ", "in stem.1 ", "a module from a line above");
    check_refused("stride=1,1", "stride=0,1",
                  "is not a valid stride for Conv2d");
    check_refused("stride=1,1", "stride=1", "is not a valid stride for Conv2d");
    check_refused("stride=1,1", "stripe=1,1", "no attribute 'stripe'");
    check_refused("groups=1", "groups", "name=value");
    check_refused("%1 = Reshape(%0, $0)", "%0 = Reshape(%0, $0)",
                  "two values '%0'");
    check_refused("Reshape(%0, $0)", "Reshape(%0)", "does not have 1 inputs");
    check_refused("output y %1", "output y %7", "no line above makes");
    check_refused("output y %1\n", "", "it has no output");
    check_refused("\"the image\" float32", "\"the image float32", "line 6");
    pool_free(pool);
}

TEST(a_quoted_name_may_contain_anything)
{
    static const char text[] = "assay-net 1\n"
                               "input \"%0\" float32 1\n"
                               "input \"a \\\"b\\\" \\\\ \\x09\" float32 1\n"
                               "%0 = Add(\"%0\", \"a \\\"b\\\" \\\\ \\x09\")\n"
                               "output \"\" %0\n";
    struct str again = {0};
    struct graph *graph;

    open_pool();
    graph = read_text(text);
    CHECK_STR(graph_value(graph, graph_input_at(graph, 1))->name,
              "a \"b\" \\ \t");
    CHECK_INT(graph_node(graph, 0)->inputs[0], graph_input_at(graph, 0));
    write_text(graph, &again);
    graph_free(graph);
    graph = read_text(again.text);
    CHECK_STR(graph_value(graph, graph_input_at(graph, 0))->name, "%0");
    graph_free(graph);
    str_release(&again);
    pool_free(pool);
}

TEST(attributes_are_listed_at_their_offsets)
{
    for (size_t i = 0; op_classes[i]; i++) {
        const struct attr_field *field = attr_fields(op_classes[i]);
        size_t end = 0;

        for (; field && field->name; field++) {
            CHECK(field->n > 0);
            CHECK(field->offset >= end);
            end = field->offset + field->n * attr_kind_bytes(field->kind);
            CHECK(end <= op_classes[i]->attrs_bytes);
        }
        /* Only padding is left out. */
        if (attr_fields(op_classes[i]))
            CHECK(op_classes[i]->attrs_bytes - end < 8);
    }
}

TEST(reading_leaks_nothing_whichever_allocation_fails)
{
    struct graph *graph = NULL;
    enum assay_status st;
    long nth = 0, before;

    open_pool();
    before = mem_live();
    do {
        mem_fail_at(nth++);
        err = (struct error){0};
        st = net_read(small, strlen(small), pool, &graph, &err);
        mem_fail_at(-1);
        graph_free(graph);
        graph = NULL;
        pool_trim(pool);
        CHECK_INT(mem_live(), before);
    } while (st && nth < 1000);
    CHECK_INT(st, ASSAY_OK);
    pool_free(pool);
}
