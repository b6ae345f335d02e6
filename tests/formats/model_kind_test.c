/* Files that people mistake for models are refused: the message says what they
 * are and what to do. */
#include "formats/model_kind.h"

#include "formats/model_file.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char export_line[] =
    "export it to ONNX with torch.onnx.export(model, photo, 'model.onnx'), or "
    "use Python's `assay`";

static void write_bytes(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(test_path(name), "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
}

/* Checks that the file is refused with a message that has all parts. */
static void check_path(const char *path, const char *const *parts)
{
    const struct model_file_options none = {0};
    struct error err = {0};
    struct graph *graph;
    struct pool *pool;

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_INT(model_file_load(path, &none, pool, &graph, &err),
              ASSAY_BAD_INPUT);
    CHECK(graph == NULL);
    for (; *parts; parts++)
        CHECK_HAS(err.text, *parts);
    pool_free(pool);
}

static void check_one(const char *path, const char *part)
{
    check_path(path, (const char *const[]){part, NULL});
}

static void check_bytes(const char *name, const void *bytes, size_t n,
                        const char *part)
{
    write_bytes(name, bytes, n);
    check_one(test_path(name), part);
}

#define CHECK_BYTES(name, bytes, part)                                         \
    check_bytes(name, bytes, sizeof(bytes) - 1, part)

/* ---- PyTorch ------------------------------------------------------------ */

enum { no_torch = 77, no_python = 127 };

/* A file that PyTorch made; skips the test without PyTorch. */
static const char *made(const char *name)
{
    static char folder[512], command[1200], path[600];
    static int status = -1;

    if (status < 0) {
        snprintf(folder, sizeof folder, "%s", test_path("made"));
        mkdir(folder, 0777);
        snprintf(command, sizeof command,
                 "/usr/bin/python3 %s/tests/formats/make_models.py %s",
                 TEST_SOURCE_DIR, folder);
        status = system(command);
    }
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python))
        SKIP("torch: /usr/bin/python3 has no torch (Debian: python3-torch)");
    CHECK_INT(status, 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

TEST(a_whole_pickled_model_of_pytorch_needs_exporting)
{
    static const char *const names[] = {"whole.pt", "whole_old.pt",
                                        "whole_in_dict.pt"};

    for (size_t i = 0; i < 3; i++)
        check_path(made(names[i]),
                   (const char *const[]){"it is a whole model", "__main__.Net",
                                         export_line, NULL});
}

TEST(weights_of_pytorch_are_for_a_built_in_model)
{
    static const char *const names[] = {"state.pth", "state_old.pth",
                                        "training.pth"};

    for (size_t i = 0; i < 3; i++)
        check_path(made(names[i]),
                   (const char *const[]){"it holds weights, not a model",
                                         "built-in model", export_line, NULL});
}

TEST(a_torchscript_model_needs_exporting)
{
    static const char *const names[] = {"scripted.pt", "traced.pt"};

    for (size_t i = 0; i < 2; i++)
        check_path(made(names[i]),
                   (const char *const[]){"it is a TorchScript model",
                                         "export it to ONNX with "
                                         "torch.onnx.export(torch.jit.load(",
                                         "'model.onnx')",
                                         "or use Python's `assay`", NULL});
}

TEST(safetensors_are_weights_too)
{
    static const char file[] = "\x38\0\0\0\0\0\0\0"
                               "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
                               "\"data_offsets\":[0,4]}}  \0\0\0\0";

    CHECK_BYTES("w.safetensors", file, "it holds weights, not a model");
}

/* ---- other frameworks --------------------------------------------------- */

TEST(models_of_other_frameworks_are_named_with_a_way_to_convert_them)
{
    CHECK_BYTES("m.tflite", "\x1c\0\0\0TFL3\x14\0\x20\0",
                "tf2onnx.convert --tflite");
    CHECK_BYTES("m.ort", "\x1c\0\0\0ORTM\x14\0\x20\0", "ONNX Runtime's own");
    CHECK_BYTES("m.gguf", "GGUF\3\0\0\0", "language model");
    CHECK_BYTES("m.pkl", "\x80\4\x95\x0a\0\0\0\0\0\0\0", "a Python pickle");
    CHECK_BYTES("m.npy", "\x93NUMPY\1\0v\0", "NumPy array");
    CHECK_BYTES("saved_model.pb", "\x08\1\x12\4\x0a\2\x0a\0",
                "tf2onnx.convert --saved-model");
}

TEST(a_folder_is_described_by_its_contents)
{
    mkdir(test_path("saved"), 0777);
    write_bytes("saved/saved_model.pb", "\x08\1", 2);
    check_one(test_path("saved"), "it is a TensorFlow SavedModel");
    mkdir(test_path("folder"), 0777);
    check_one(test_path("folder"), "it is a folder without a model");
    write_bytes("folder/b.onnx", "", 0);
    write_bytes("folder/a.onnx", "", 0);
    check_one(test_path("folder"), "/folder/a.onnx");
}

/* ---- other files --------------------------------------------------------- */

TEST(files_of_assay_are_named_with_their_command)
{
    char run[100] = "SQLite format 3";

    memcpy(run + 68, "ASAY", 4);
    check_bytes("run.assay", run, sizeof run, "assay show");
    memcpy(run + 68, "Ascy", 4);
    check_bytes("c.sqlite", run, sizeof run, "log of a campaign");
    memcpy(run + 68, "\0\0\0\0", 4);
    check_bytes("x.sqlite", run, sizeof run, "it is a database");
    CHECK_BYTES("x.fp", "assay fingerprint 3\n", "assay predict");
}

TEST(pictures_archives_and_texts_are_named)
{
    CHECK_BYTES("a.jpg", "\xff\xd8\xff\xe0\0\x10JFIF", "it is a picture");
    CHECK_BYTES("a.png", "\x89PNG\r\n\x1a\n\0\0", "it is a picture");
    CHECK_BYTES("a.gz", "\x1f\x8b\x08\0\0", "it is compressed");
    CHECK_BYTES("net.py", "import torch\n", "it is Python");
    CHECK_BYTES("a.onnx", "<!DOCTYPE html>\n<html>", "a web page");
    CHECK_BYTES("b.onnx", "version https://git-lfs.github.com/spec/v1\noid x",
                "git lfs pull");
    CHECK_BYTES("c.json", " {\"class_name\": \"Model\"}", "it is JSON");
    CHECK_BYTES("c.toml", "[model]\nname = 1\n", "it is a text");
    CHECK_BYTES("a.zip", "PK\5\6\0\0\0\0\0\0\0\0", "an empty zip");
    check_bytes("empty.onnx", "", 0, "is empty");
}

TEST(a_pipe_is_refused)
{
    CHECK_INT(mkfifo(test_path("pipe"), 0600), 0);
    check_one(test_path("pipe"), "it is a pipe");
}

/* A long path is shortened so that the advice at the end fits. */
TEST(a_long_path_leaves_room_for_the_advice)
{
    char name[256];

    snprintf(name, sizeof name, "%0*d", 100, 7);
    mkdir(test_path(name), 0777);
    snprintf(name, sizeof name, "%0*d/%0*d.pkl", 100, 7, 90, 3);
    write_bytes(name, "\x80\4\x95\x0a\0", 5);
    check_one(test_path(name), export_line);
}

TEST(files_that_may_be_models_pass)
{
    static const char *const names[] = {"onnx", "hdf5", "net"};
    static const char *const begins[] = {"\x08\7\x12\7pytorch",
                                         "\x89HDF\r\n\x1a\n", "assay-net 1\n"};

    for (size_t i = 0; i < 3; i++) {
        struct error err = {0};

        write_bytes(names[i], begins[i], strlen(begins[i]));
        CHECK_STATUS(model_kind_check(test_path(names[i]), &err), ASSAY_OK,
                     &err);
    }
}
