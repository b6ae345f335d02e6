/* Keras files that are damaged, hostile or use unsupported features are refused
 * with one sentence. */
#include "test.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "formats/keras/keras.h"

#include <stdio.h>
#include <string.h>

#define FOLDER TEST_SOURCE_DIR "/tests/formats/keras/"

static struct error err;

static void check_file(const char *path, enum assay_status wanted,
                       const char *const *parts)
{
    struct pool *pool;
    struct graph *graph;
    long before = mem_live();

    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(keras_load(path, NULL, pool, &graph, &err), wanted, &err);
    CHECK(!graph);
    for (; *parts; parts++)
        CHECK_HAS(err.text, *parts);
    CHECK(!strchr(err.text, '\n'));
    pool_free(pool);
    CHECK_INT(mem_live(), before);
}

static struct str read_whole(const char *name)
{
    struct str bytes = {0};
    char path[512], buffer[4096];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, FOLDER "%s", name);
    file = fopen(path, "rb");
    CHECK(file);
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0)
        CHECK_INT(str_append_n(&bytes, buffer, n), ASSAY_OK);
    fclose(file);
    return bytes;
}

static const char *write_bytes(const char *name, const char *bytes, size_t n)
{
    const char *path = test_path(name);
    FILE *file = fopen(path, "wb");

    CHECK(file);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
    return path;
}

/* Removes the checksums, so that a changed archive is still read. */
static void remove_sums(struct str *archive)
{
    for (size_t i = 0; i + 20 <= archive->n; i++) {
        if (memcmp(archive->text + i, "PK\1\2", 4) == 0)
            memset(archive->text + i + 16, 0, 4);
    }
}

/* Copies a file and replaces a text by another of the same length. */
static const char *change(const char *name, const char *from, const char *to)
{
    struct str bytes = read_whole(name);
    size_t n = strlen(from), found = 0;
    const char *path;

    CHECK_INT(strlen(to), n);
    for (size_t i = 0; i + n <= bytes.n; i++) {
        if (memcmp(bytes.text + i, from, n) == 0) {
            memcpy(bytes.text + i, to, n);
            found++;
        }
    }
    CHECK(found);
    remove_sums(&bytes);
    path = write_bytes(name, bytes.text, bytes.n);
    str_release(&bytes);
    return path;
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(a_missing_dataset_is_named_with_its_layer)
{
    check_file(change("sequential_k2.h5", "bias:0", "bIAS:0"), ASSAY_BAD_INPUT,
               PARTS("layer 'conv2d' (Conv2D)", "its bias is not in the file"));
    check_file(change("sequential_k2.keras", "\"Conv2D\"", "\"Conv2d\""),
               ASSAY_UNSUPPORTED, PARTS("conv2d (Conv2d)"));
}

TEST(a_weight_of_another_shape_is_refused_and_names_both)
{
    check_file(change("sequential_k2.h5", "\"units\": 7", "\"units\": 9"),
               ASSAY_BAD_INPUT, PARTS("layer 'dense'", "30x7", "30x9"));
    check_file(
        change("sequential_k2.keras", "\"filters\": 5", "\"filters\": 6"),
        ASSAY_BAD_INPUT, PARTS("'conv2d'", "3x3x3x5", "3x3x3x6"));
}

TEST(weights_without_a_model_are_refused)
{
    check_file(change("sequential_k2.h5", "model_config", "model_CONFIG"),
               ASSAY_UNSUPPORTED, PARTS("model_config", "model.save()"));
}

TEST(truncated_files_are_refused)
{
    static const char *const names[] = {"sequential_k2.h5",
                                        "sequential_k2.keras"};

    for (size_t i = 0; i < 2; i++) {
        struct str bytes = read_whole(names[i]);

        for (size_t part = 0; part < 8; part++)
            check_file(
                write_bytes(names[i], bytes.text, bytes.n * part / 8 + 9),
                ASSAY_BAD_INPUT, PARTS("reading "));
        str_release(&bytes);
    }
}

/* Sets the method of every entry of the archive to "deflated", which its bytes
 * are not. */
TEST(an_entry_that_does_not_unpack_is_refused)
{
    struct str bytes = read_whole("caffe_style_k3.keras");

    for (size_t i = 0; i + 4 < bytes.n; i++) {
        if (memcmp(bytes.text + i, "PK\1\2", 4) == 0)
            bytes.text[i + 10] = 8;
        if (memcmp(bytes.text + i, "PK\3\4", 4) == 0)
            bytes.text[i + 8] = 8;
    }
    check_file(write_bytes("bomb.keras", bytes.text, bytes.n), ASSAY_BAD_INPUT,
               PARTS("config.json", "does not unpack to what was stored"));
    str_release(&bytes);
}

TEST(a_changed_byte_of_an_archive_is_refused_and_names_the_entry)
{
    static const struct {
        const char *text, *entry;
    } places[] = {{"\"class_name\"", "config.json"},
                  {"keras_version", "metadata.json"},
                  {"\x89HDF", "model.weights.h5"}};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct str bytes = read_whole("sequential_k2.keras");
        char *at =
            memmem(bytes.text, bytes.n, places[i].text, strlen(places[i].text));

        CHECK(at);
        at[2000 * (i == 2)] ^= 1; /* somewhere in the weights */
        check_file(write_bytes("flip.keras", bytes.text, bytes.n),
                   ASSAY_BAD_INPUT,
                   PARTS("flip.keras", places[i].entry, "CRC-32"));
        str_release(&bytes);
    }
}

TEST(an_archive_of_something_else_is_refused)
{
    check_file(change("caffe_style_k3.keras", "config.json", "konfig.json"),
               ASSAY_BAD_INPUT, PARTS("no config.json"));
}

TEST(a_custom_class_is_refused_by_name)
{
    const char *path =
        test_shared("models/keras/pre_pr22362_nested_container.keras");

    if (!path)
        SKIP("../shared/data/models/keras is missing");
    check_file(path, ASSAY_UNSUPPORTED, PARTS("NestedDenseModel"));
}

/* ---- configurations ----------------------------------------------------- */

static void check_config(const char *json, enum assay_status wanted,
                         const char *const *parts)
{
    struct pool *pool;
    struct graph *graph;
    long before = mem_live();

    err = (struct error){0};
    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(keras_load_config(json, strlen(json), pool, &graph, &err),
                 wanted, &err);
    for (; *parts; parts++)
        CHECK_HAS(err.text, *parts);
    graph_free(graph);
    pool_free(pool);
    CHECK_INT(mem_live(), before);
}

#define INPUT                                                                  \
    "{\"class_name\":\"InputLayer\",\"config\":{\"name\":\"x\","               \
    "\"batch_shape\":[null,4,4,3]},\"name\":\"x\",\"inbound_nodes\":[]}"
#define LAYER(class_name, name, config, from)                                  \
    ",{\"class_name\":\"" class_name "\",\"name\":\"" name                     \
    "\",\"config\":{\"name\":\"" name "\"" config                              \
    "},\"inbound_nodes\":[[[\"" from "\",0,0,{}]]]}"
#define MODEL(layers, output)                                                  \
    "{\"class_name\":\"Functional\",\"config\":{\"name\":\"m\",\"layers\":"    \
    "[" INPUT layers                                                           \
    "],\"input_layers\":[[\"x\",0,0]],\"output_layers\":[[\"" output           \
    "\",0,0]]}}"

TEST(all_unsupported_layers_are_named_at_once)
{
    check_config(MODEL(LAYER("Lambda", "mine", "", "x")
                           LAYER("ReLU", "r", "", "mine")
                               LAYER("LSTM", "memory", "", "r"),
                       "memory"),
                 ASSAY_UNSUPPORTED,
                 PARTS("2 of its layers", "mine (Lambda)", "memory (LSTM)"));
}

TEST(layers_that_wait_for_each_other_are_refused)
{
    check_config(
        MODEL(LAYER("ReLU", "a", "", "b") LAYER("ReLU", "b", "", "a"), "b"),
        ASSAY_BAD_INPUT, PARTS("layer 'a' never gets its inputs"));
}

TEST(a_reference_to_nothing_names_what_is_missing)
{
    check_config(MODEL(LAYER("ReLU", "a", "", "ghost"), "a"), ASSAY_BAD_INPUT,
                 PARTS("no layer 'ghost'"));
}

TEST(unsupported_settings_of_a_layer_are_named)
{
    check_config(
        MODEL(LAYER("Activation", "a", ",\"activation\":\"crelu\"", "x"), "a"),
        ASSAY_UNSUPPORTED, PARTS("layer 'a' (Activation)", "'crelu'"));
    check_config(MODEL(LAYER("MaxPooling2D", "p",
                             ",\"data_format\":\"channels_inside\"", "x"),
                       "p"),
                 ASSAY_UNSUPPORTED, PARTS("data_format 'channels_inside'"));
    check_config(
        MODEL(LAYER("BatchNormalization", "b", ",\"axis\":2", "x"), "b"),
        ASSAY_UNSUPPORTED, PARTS("axis 2 is not supported"));
    check_config(MODEL(LAYER("Normalization", "n",
                             ",\"axis\":[3,1],\"mean\":0,\"variance\":1", "x"),
                       "n"),
                 ASSAY_UNSUPPORTED, PARTS("not in ascending order"));
    check_config(MODEL(LAYER("Normalization", "n",
                             ",\"axis\":[1,3],\"mean\":[1,2],"
                             "\"variance\":1",
                             "x"),
                       "n"),
                 ASSAY_UNSUPPORTED,
                 PARTS("mean has 2 numbers; 1 and 12 are supported"));
    check_config(MODEL(LAYER("Conv2D", "c",
                             ",\"filters\":-4,\"kernel_size\":[3,3]", "x"),
                       "c"),
                 ASSAY_BAD_INPUT, PARTS("filters is -4"));
    check_config(
        MODEL(LAYER("MaxPooling2D", "p", ",\"pool_size\":[9,9]", "x"), "p"),
        ASSAY_BAD_INPUT, PARTS("layer 'p'"));
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    static const char json[] =
        MODEL(LAYER("Conv2D", "c", ",\"filters\":2,\"kernel_size\":[3,3]", "x")
                  LAYER("Flatten", "f", "", "c"),
              "f");
    enum assay_status st = ASSAY_NOMEM;

    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        long before = mem_live();
        struct graph *graph = NULL;
        struct pool *pool;

        err = (struct error){0};
        CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
        mem_fail_at(nth);
        st = keras_load_config(json, strlen(json), pool, &graph, &err);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
        CHECK(!st == !!graph);
        graph_free(graph);
        pool_free(pool);
        CHECK_INT(mem_live(), before);
    }
    CHECK_INT(st, ASSAY_OK);
}
