/* The elements of ONNX tensors: their encodings, their files, and damage. */
#include "onnx_build.h"

#include "tensor/half.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pool *pool;
static struct graph *graph;
static struct error err;

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
}

/* A model with the initializer itself as output. Takes the tensor. */
static struct str model_of(const char *name, struct str tensor)
{
    struct str made = {0};

    put_message(&made, GRAPH_INITIALIZER, tensor);
    put_message(&made, GRAPH_OUTPUT, make_value(name, ONNX_FLOAT, ""));
    return make_model(made, 13);
}

static void load_tensor(struct str tensor, enum assay_status wanted)
{
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(model_of("t", tensor),
                            &(struct model_file_options){0}, pool, &graph,
                            &err),
                 wanted, &err);
}

static void close_all(void)
{
    graph_free(graph);
    pool_free(pool);
    graph = NULL;
}

static const struct tensor *loaded(void)
{
    return &graph_value(graph, graph_find_value(graph, "t"))->data;
}

/* Checks for 0, 1 and 2 of a type, whatever the encoding. */
static void check_012(enum dtype dtype, const void *wanted)
{
    CHECK_INT(loaded()->dtype, dtype);
    CHECK_INT(tensor_elements(loaded()), 3);
    CHECK(memcmp(tensor_data(loaded()), wanted, tensor_bytes(loaded())) == 0);
    close_all();
}

static const int64_t three[] = {3};

TEST(typed_lists_hold_elements_of_every_type)
{
    static const struct {
        int type;
        uint32_t list;
        enum dtype dtype;
        union {
            int8_t i8[3];
            uint8_t u8[3];
            int16_t i16[3];
            uint16_t u16[3];
            int32_t i32[3];
            uint32_t u32[3];
            int64_t i64[3];
            uint64_t u64[3];
        } wanted;
    } types[] = {
        {2, TENSOR_INT32S, DTYPE_U8, {.u8 = {0, 1, 2}}},
        {3, TENSOR_INT32S, DTYPE_I8, {.i8 = {0, 1, 2}}},
        {4, TENSOR_INT32S, DTYPE_U16, {.u16 = {0, 1, 2}}},
        {5, TENSOR_INT32S, DTYPE_I16, {.i16 = {0, 1, 2}}},
        {6, TENSOR_INT32S, DTYPE_I32, {.i32 = {0, 1, 2}}},
        {7, TENSOR_INT64S, DTYPE_I64, {.i64 = {0, 1, 2}}},
        {9, TENSOR_INT32S, DTYPE_BOOL, {.u8 = {0, 1, 1}}},
        {10, TENSOR_INT32S, DTYPE_F16, {.u16 = {0, 1, 2}}},
        {12, TENSOR_UINT64S, DTYPE_U32, {.u32 = {0, 1, 2}}},
        {13, TENSOR_UINT64S, DTYPE_U64, {.u64 = {0, 1, 2}}},
        {16, TENSOR_INT32S, DTYPE_BF16, {.u16 = {0, 1, 2}}},
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct str packed = make_tensor("t", types[i].type, three, 1);
        struct str single = make_tensor("t", types[i].type, three, 1);

        put_bytes(&packed, types[i].list, "\0\1\2", 3);
        load_tensor(packed, ASSAY_OK);
        check_012(types[i].dtype, &types[i].wanted);
        for (int64_t k = 0; k < 3; k++)
            put_int(&single, types[i].list, k);
        load_tensor(single, ASSAY_OK);
        check_012(types[i].dtype, &types[i].wanted);
    }
}

TEST(lists_of_floats_and_doubles_are_read)
{
    static const float floats[] = {0, 1, 2};
    static const double doubles[] = {0, 1, 2};
    struct str packed = make_tensor("t", ONNX_FLOAT, three, 1);
    struct str wide = make_tensor("t", 11, three, 1);

    put_bytes(&packed, TENSOR_FLOATS, floats, sizeof floats);
    load_tensor(packed, ASSAY_OK);
    check_012(DTYPE_F32, floats);
    put_bytes(&wide, TENSOR_DOUBLES, doubles, sizeof doubles);
    load_tensor(wide, ASSAY_OK);
    check_012(DTYPE_F64, doubles);
}

TEST(raw_bytes_are_read_at_any_alignment)
{
    static const float wanted[] = {0, 1, 2};

    /* The name before it moves the elements by a byte each time. */
    for (size_t i = 1; i <= 8; i++) {
        struct str tensor = {0};

        put_bytes(&tensor, 12, "documented", i);
        put_int(&tensor, TENSOR_DIMS, 3);
        put_int(&tensor, TENSOR_TYPE, ONNX_FLOAT);
        put_text(&tensor, TENSOR_NAME, "t");
        put_bytes(&tensor, TENSOR_RAW, wanted, sizeof wanted);
        load_tensor(tensor, ASSAY_OK);
        CHECK_INT((uintptr_t)tensor_data(loaded()) % sizeof(float), 0);
        check_012(DTYPE_F32, wanted);
    }
}

TEST(elements_that_do_not_fit_the_shape_are_refused)
{
    static const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    static const int64_t negative[] = {-3};
    struct str few = make_tensor("t", ONNX_FLOAT, three, 1);
    struct str none = make_tensor("t", ONNX_FLOAT, three, 1);
    struct str more = make_tensor("t", ONNX_FLOAT, three, 1);
    struct str many = make_tensor("t", 6, three, 1);

    put_bytes(&few, TENSOR_RAW, "12345678", 8);
    load_tensor(few, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "'t'");
    CHECK_HAS(err.text, "8 bytes");
    CHECK_HAS(err.text, "12");
    close_all();
    load_tensor(none, ASSAY_BAD_INPUT);
    close_all();
    put_bytes(&more, TENSOR_RAW, "1234567890123456", 16);
    load_tensor(more, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "16 bytes");
    close_all();
    put_bytes(&many, TENSOR_INT32S, "\1\2\3\4", 4);
    load_tensor(many, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "4 elements");
    close_all();
    load_tensor(make_tensor("t", ONNX_FLOAT, huge, 2), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "1099511627776x1099511627776");
    close_all();
    load_tensor(make_tensor("t", ONNX_FLOAT, negative, 1), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "-3");
    close_all();
}

/* The lowest bits of a byte come first, in raw bytes and in lists. */
TEST(numbers_of_four_and_two_bits_are_unpacked)
{
    static const unsigned char raw[] = {0x10, 0x02};
    static const uint8_t small[] = {0, 1, 2}, negative[] = {0xff, 0xf8, 7};
    struct str tensor;

    for (int in_list = 0; in_list < 2; in_list++) {
        tensor = make_tensor("t", 21, three, 1); /* uint4 */
        if (in_list) {
            put_int(&tensor, TENSOR_INT32S, raw[0]);
            put_int(&tensor, TENSOR_INT32S, raw[1]);
        } else {
            put_bytes(&tensor, TENSOR_RAW, raw, 2);
        }
        load_tensor(tensor, ASSAY_OK);
        check_012(DTYPE_U4, small);
    }
    tensor = make_tensor("t", 22, three, 1); /* int4 */
    put_bytes(&tensor, TENSOR_RAW, "\x8f\x07", 2);
    load_tensor(tensor, ASSAY_OK);
    check_012(DTYPE_I4, negative);
    tensor = make_tensor("t", 25, three, 1); /* uint2 */
    put_bytes(&tensor, TENSOR_RAW, "\x24", 1);
    load_tensor(tensor, ASSAY_OK);
    check_012(DTYPE_U2, small);
    tensor = make_tensor("t", 22, three, 1);
    put_bytes(&tensor, TENSOR_RAW, raw, 1);
    load_tensor(tensor, ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "1 bytes; 3 of int4 takes 2");
    close_all();
}

TEST(unsupported_types_are_named)
{
    load_tensor(make_tensor("t", 8, three, 1), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "strings");
    close_all();
    load_tensor(make_tensor("t", 14, three, 1), ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "complex");
    close_all();
}

TEST(sparse_tensors_are_made_dense)
{
    static const int64_t places[] = {1, 4};
    static const float values[] = {7, 8};
    static const int64_t two[] = {2};
    struct str sparse = {0}, made = {0};
    struct str indices = make_tensor("", ONNX_INT64, two, 1);
    const float *got;

    put_bytes(&indices, TENSOR_RAW, places, sizeof places);
    put_message(&sparse, 1, make_floats("t", values, 2));
    put_message(&sparse, 2, indices);
    put_int(&sparse, 3, 2);
    put_int(&sparse, 3, 3);
    put_message(&made, 15, sparse);
    put_message(&made, GRAPH_OUTPUT, make_value("t", ONNX_FLOAT, ""));
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(make_model(made, 13),
                            &(struct model_file_options){0}, pool, &graph,
                            &err),
                 ASSAY_OK, &err);
    got = tensor_f32(loaded());
    CHECK_INT(loaded()->shape.dims[1], 3);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(got[i], i == 1 ? 7 : i == 4 ? 8 : 0, 0);
    close_all();
}

/* ---- files next to the model -------------------------------------------- */

static void put_entry(struct str *tensor, const char *key, const char *value)
{
    struct str entry = {0};

    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, TENSOR_EXTERNAL, entry);
}

/* Writes model.onnx into the test's folder, with its elements elsewhere. */
static const char *write_external(const char *location, const char *offset,
                                  const char *length)
{
    struct str tensor = make_tensor("t", ONNX_FLOAT, three, 1);
    struct str model;

    put_int(&tensor, TENSOR_LOCATION, 1);
    put_entry(&tensor, "location", location);
    if (offset)
        put_entry(&tensor, "offset", offset);
    if (length)
        put_entry(&tensor, "length", length);
    model = model_of("t", tensor);
    mkdir(test_path("in"), 0700);
    write_file(test_path("in/model.onnx"), model.text, model.n);
    str_release(&model);
    return test_path("in/model.onnx");
}

static enum assay_status load_file(const char *path, bool may_read_outside)
{
    struct model_file_options options = {.may_read_outside = may_read_outside,
                                         .outside_hint = "allow it"};

    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    return onnx_load(path, &options, pool, &graph, &err);
}

TEST(elements_may_be_in_a_file_next_to_the_model)
{
    static const float numbers[] = {9, 0, 1, 2};
    const char *path = write_external("weights.bin", "4", "12");

    write_file(test_path("in/weights.bin"), numbers, sizeof numbers);
    CHECK_STATUS(load_file(path, false), ASSAY_OK, &err);
    check_012(DTYPE_F32, numbers + 1);
}

TEST(a_file_outside_the_folder_is_only_read_if_allowed)
{
    static const float numbers[] = {0, 1, 2};
    const char *path = write_external("../outside.bin", NULL, NULL);

    write_file(test_path("outside.bin"), numbers, sizeof numbers);
    CHECK_STATUS(load_file(path, false), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "../outside.bin");
    CHECK_HAS(err.text, "the model's folder; allow it");
    close_all();
    CHECK_STATUS(load_file(path, true), ASSAY_OK, &err);
    check_012(DTYPE_F32, numbers);

    /* A link does not help. */
    path = write_external("link.bin", NULL, NULL);
    CHECK_INT(symlink(test_path("outside.bin"), test_path("in/link.bin")), 0);
    CHECK_STATUS(load_file(path, false), ASSAY_BAD_INPUT, &err);
    close_all();
}

TEST(offsets_past_the_end_of_a_file_are_refused)
{
    static const float numbers[] = {0, 1, 2};
    static const char *const places[][2] = {
        {"4", "12"}, {"18446744073709551615", "12"}, {"-4", "12"}, {"0", "11"}};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *path =
            write_external("short.bin", places[i][0], places[i][1]);

        write_file(test_path("in/short.bin"), numbers, sizeof numbers);
        CHECK_STATUS(load_file(path, false), ASSAY_BAD_INPUT, &err);
        CHECK_HAS(err.text, "'t'");
        close_all();
    }
}

TEST(a_missing_file_is_named)
{
    const char *path = write_external("nowhere.bin", NULL, NULL);

    CHECK_STATUS(load_file(path, false), ASSAY_NOT_FOUND, &err);
    CHECK_HAS(err.text, "nowhere.bin");
    close_all();
}

/* If it were opened, this test would not end. */
TEST(a_pipe_instead_of_elements_is_refused)
{
    const char *path = write_external("pipe.bin", NULL, NULL);

    CHECK_INT(mkfifo(test_path("in/pipe.bin"), 0600), 0);
    CHECK_STATUS(load_file(path, false), ASSAY_BAD_INPUT, &err);
    CHECK_HAS(err.text, "pipe.bin");
    CHECK_HAS(err.text, "not a regular file");
    close_all();
}

/* ---- damage ------------------------------------------------------------- */

static struct str small_model(void)
{
    static const float weight[] = {1, 2, 3};
    struct str made = {0};

    put_message(&made, GRAPH_INPUT, make_value("x", ONNX_FLOAT, "1x3"));
    put_message(&made, GRAPH_INITIALIZER, make_floats("w", weight, 3));
    put_message(&made, GRAPH_NODE, make_node("Add", "a/b/Add", "x w", "v"));
    put_message(&made, GRAPH_NODE, make_node("Relu", "", "v", "y"));
    put_message(&made, GRAPH_OUTPUT, make_value("y", ONNX_FLOAT, "1x3"));
    return make_model(made, 13);
}

/* Only what follows the graph is not needed. */
TEST(a_file_truncated_anywhere_is_refused)
{
    struct str whole = small_model();

    for (size_t n = 1; n < whole.n; n++) {
        struct str part = {0};

        put(&part, whole.text, n);
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
        CHECK(load_bytes(part, &(struct model_file_options){0}, pool, &graph,
                         &err) != ASSAY_OK);
        CHECK(err.text[0]);
        close_all();
    }
    str_release(&whole);
}

TEST(graphs_that_are_nested_too_deep_are_refused)
{
    struct str inner = {0};

    for (int i = 0; i < 40; i++) {
        struct str outer = {0}, node = make_node("If", "", "c", "y");

        put_graph_attribute(&node, "then_branch", inner);
        put_message(&outer, GRAPH_NODE, node);
        inner = outer;
    }
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(load_bytes(make_model(inner, 13),
                            &(struct model_file_options){0}, pool, &graph,
                            &err),
                 ASSAY_UNSUPPORTED, &err);
    CHECK_HAS(err.text, "deep");
    close_all();
}

TEST(loading_leaks_nothing_whichever_allocation_fails)
{
    enum assay_status st = ASSAY_NOMEM;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        struct str model = small_model();
        struct buffer *file;
        long before;

        CHECK_INT(buffer_wrap(model.text, model.n, NULL, NULL, &file, &err),
                  ASSAY_OK);
        pool_trim(pool);
        before = mem_live();
        mem_fail_at(nth);
        st = onnx_load_buffer(file, &(struct model_file_options){0}, pool,
                              &graph, NULL);
        mem_fail_at(-1);
        graph_free(graph);
        pool_trim(pool);
        CHECK_INT(mem_live(), before);
        buffer_release(file);
        str_release(&model);
    }
    CHECK_INT(st, ASSAY_OK);
    pool_free(pool);
}
