/* Files of weights that we write, read back with our reader and with PyTorch.
 */
#include "base/mem.h"
#include "base/str.h"
#include "formats/weights/checkpoint.h"
#include "formats/weights/checkpoint_write.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_tensors = 5 };

static struct error err;

struct fixture {
    struct pool *pool;
    struct tensor tensors[n_tensors];
    struct named_tensor named[n_tensors];
};

/* Several types and shapes, including a scalar and an empty one. Element i of
 * the k-th is 10 * k + i. */
static void fixture_make(struct fixture *fixture)
{
    static const char *const names[n_tensors] = {
        "model.steps", "model.conv.weight", "model.empty", "model.mask",
        "optimizer.conv.weight.momentum_buffer"};
    static const enum dtype dtypes[n_tensors] = {
        DTYPE_I64, DTYPE_F32, DTYPE_F32, DTYPE_U8, DTYPE_F32};
    const struct shape shapes[n_tensors] = {
        shape_of(0), shape_of(3, (int64_t)2, (int64_t)3, (int64_t)4),
        shape_of(2, (int64_t)0, (int64_t)7), shape_of(1, (int64_t)5),
        shape_of(1, (int64_t)33)};

    CHECK_INT(pool_new(&fixture->pool, NULL), ASSAY_OK);
    for (int k = 0; k < n_tensors; k++) {
        struct tensor *tensor = &fixture->tensors[k];

        CHECK_INT(
            tensor_new(fixture->pool, dtypes[k], &shapes[k], tensor, NULL),
            ASSAY_OK);
        for (size_t i = 0; i < tensor_elements(tensor); i++) {
            if (dtypes[k] == DTYPE_F32)
                tensor_f32(tensor)[i] = (float)(10 * k) + (float)i;
            else if (dtypes[k] == DTYPE_I64)
                tensor_i64(tensor)[i] = 10 * k + (int64_t)i;
            else
                ((uint8_t *)tensor_data(tensor))[i] =
                    (uint8_t)(10 * k + (int)i);
        }
        fixture->named[k] = (struct named_tensor){names[k], tensor};
    }
}

static void fixture_free(struct fixture *fixture)
{
    for (int k = 0; k < n_tensors; k++)
        tensor_release(&fixture->tensors[k]);
    pool_free(fixture->pool);
}

static void check_same(const struct fixture *fixture,
                       const struct checkpoint *read)
{
    CHECK_INT(checkpoint_count(read), n_tensors);
    for (int k = 0; k < n_tensors; k++) {
        const struct tensor *want = &fixture->tensors[k];
        struct tensor got;
        size_t i = 0;

        CHECK(checkpoint_find(read, fixture->named[k].name, &i));
        CHECK_STATUS(checkpoint_load(read, i, fixture->pool, &got, &err),
                     ASSAY_OK, &err);
        CHECK_INT(got.dtype, want->dtype);
        CHECK(shape_equal(&got.shape, &want->shape));
        CHECK(memcmp(tensor_data(&got), tensor_data(want),
                     tensor_bytes(want)) == 0);
        tensor_release(&got);
    }
}

static const struct named_text texts[] = {{"step", "17"},
                                          {CHECKPOINT_HAS_DICTS, "1"},
                                          {"words", "a \"quoted\"\nline"}};

static void write_safetensors(const struct fixture *fixture, const char *path)
{
    CHECK_STATUS(
        safetensors_write(path, fixture->named, n_tensors, texts, 3, &err),
        ASSAY_OK, &err);
}

static struct checkpoint *open_written(const char *path)
{
    struct checkpoint *read = NULL;

    CHECK_STATUS(checkpoint_open(path, &read, &err), ASSAY_OK, &err);
    return read;
}

TEST(safetensors_survive_a_round_trip)
{
    const char *path = test_path("a.safetensors");
    struct fixture fixture;
    struct checkpoint *read;

    fixture_make(&fixture);
    write_safetensors(&fixture, path);
    read = open_written(path);
    CHECK_INT(checkpoint_kind(read), CHECKPOINT_SAFETENSORS);
    check_same(&fixture, read);
    CHECK_STR(checkpoint_note(read, "step"), "17");
    CHECK_STR(checkpoint_note(read, "words"), "a \"quoted\"\nline");
    CHECK(checkpoint_note(read, "other") == NULL);
    checkpoint_free(read);
    fixture_free(&fixture);
}

TEST(a_safetensors_file_with_dicts_can_be_unwrapped_to_the_model)
{
    const char *path = test_path("dicts.safetensors");
    struct fixture fixture;
    struct checkpoint *read;
    size_t i;

    fixture_make(&fixture);
    write_safetensors(&fixture, path);
    read = open_written(path);
    CHECK_STATUS(checkpoint_unwrap(read, &err), ASSAY_OK, &err);
    CHECK_INT(checkpoint_count(read), 4);
    CHECK(checkpoint_find(read, "conv.weight", &i));
    CHECK(!checkpoint_find(read, "optimizer.conv.weight.momentum_buffer", &i));
    checkpoint_free(read);
    fixture_free(&fixture);
}

/* Offsets of elements are multiples of their type's size, so that a mapped file
 * can be used in place. */
TEST(elements_are_aligned_in_the_file)
{
    const char *path = test_path("aligned.safetensors");
    struct fixture fixture;
    struct checkpoint *read;
    struct tensor weight;
    size_t i = 0;

    fixture_make(&fixture);
    write_safetensors(&fixture, path);
    read = open_written(path);
    CHECK(checkpoint_find(read, "model.conv.weight", &i));
    CHECK_INT(checkpoint_load(read, i, fixture.pool, &weight, &err), ASSAY_OK);
    CHECK_INT(buffer_pool_bytes(weight.buffer), 0);
    tensor_release(&weight);
    checkpoint_free(read);
    fixture_free(&fixture);
}

TEST(a_pytorch_archive_survives_a_round_trip)
{
    const char *path = test_path("a.pth");
    struct fixture fixture;
    struct checkpoint *read;

    fixture_make(&fixture);
    CHECK_STATUS(torch_zip_write(path, fixture.named, n_tensors, &err),
                 ASSAY_OK, &err);
    read = open_written(path);
    CHECK_INT(checkpoint_kind(read), CHECKPOINT_TORCH_ZIP);
    check_same(&fixture, read);
    checkpoint_free(read);
    fixture_free(&fixture);
}

static struct str read_file(const char *path)
{
    struct str bytes = {0};
    char part[512];
    FILE *file = fopen(path, "rb");
    size_t n;

    CHECK(file);
    while ((n = fread(part, 1, sizeof part, file)) > 0)
        CHECK_INT(str_append_n(&bytes, part, n), ASSAY_OK);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const struct str *bytes)
{
    FILE *file = fopen(path, "wb");

    CHECK(file);
    CHECK_INT(fwrite(bytes->text, 1, bytes->n, file), bytes->n);
    CHECK_INT(fclose(file), 0);
}

/* Opens the file and loads all of it; returns the first failure. */
static enum assay_status load_all(const char *path, struct pool *pool)
{
    struct checkpoint *read = NULL;
    enum assay_status st;

    err = (struct error){0};
    st = checkpoint_open(path, &read, &err);
    for (size_t i = 0; !st && i < checkpoint_count(read); i++) {
        struct tensor tensor;

        st = checkpoint_load(read, i, pool, &tensor, &err);
        if (!st)
            tensor_release(&tensor);
    }
    CHECK(st || checkpoint_check(read, &err) == ASSAY_OK);
    checkpoint_free(read);
    return st;
}

/* The offset of the i-th entry's data, by the archive's own headers. */
static char *entry_data(const struct str *archive, size_t i, size_t *n)
{
    char *at = archive->text;

    for (;; i--) {
        unsigned char *header = (unsigned char *)at;
        size_t skip = 30 + header[26] + 256U * header[27] + header[28] +
                      256U * header[29];

        CHECK(memcmp(at, "PK\3\4", 4) == 0);
        *n = header[18] + 256U * header[19];
        at += skip;
        if (i == 0)
            return at;
        at += *n;
    }
}

TEST(a_changed_bit_of_an_archive_is_refused_and_names_the_entry)
{
    static const char *const names[] = {"archive/data.pkl", "archive/data/0",
                                        "archive/data/1"};
    const char *path = test_path("flipped.pth");
    struct fixture fixture;
    struct str bytes;

    fixture_make(&fixture);
    CHECK_STATUS(torch_zip_write(path, fixture.named, n_tensors, &err),
                 ASSAY_OK, &err);
    bytes = read_file(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n;
        char *data;

        for (size_t entry = 0;; entry++) { /* the one of that name */
            size_t before;

            data = entry_data(&bytes, entry, &n);
            before = (size_t)(data - bytes.text);
            before = before < 80 ? before : 80;
            if (memmem(data - before, before, names[i], strlen(names[i])))
                break;
        }
        for (size_t k = 0; k < n; k++) {
            data[k] ^= 4;
            write_file(path, &bytes);
            CHECK_STATUS(load_all(path, fixture.pool), ASSAY_BAD_INPUT, &err);
            CHECK_HAS(err.text, names[i]);
            CHECK_HAS(err.text, "CRC-32");
            data[k] ^= 4;
        }
    }
    str_release(&bytes);
    fixture_free(&fixture);
}

/* As torch.serialization.set_crc32_options(False) writes it. */
TEST(an_archive_without_checksums_is_read)
{
    const char *path = test_path("sumless.pth");
    struct fixture fixture;
    struct str bytes;

    fixture_make(&fixture);
    CHECK_STATUS(torch_zip_write(path, fixture.named, n_tensors, &err),
                 ASSAY_OK, &err);
    bytes = read_file(path);
    for (size_t i = 0; i + 20 < bytes.n; i++) {
        if (memcmp(bytes.text + i, "PK\1\2", 4) == 0)
            memset(bytes.text + i + 16, 0, 4);
    }
    write_file(path, &bytes);
    CHECK_STATUS(load_all(path, fixture.pool), ASSAY_OK, &err);
    str_release(&bytes);
    fixture_free(&fixture);
}

TEST(pytorch_loads_the_archive)
{
    enum { no_torch = 77, no_python = 127 };
    static const char script[] =
        "import sys\n"
        "try:\n"
        "    import torch\n"
        "except ImportError:\n"
        "    sys.exit(77)\n"
        "import zipfile\n"
        "assert zipfile.ZipFile(sys.argv[1]).testzip() is None\n"
        "d = torch.load(sys.argv[1])\n"
        "assert list(d) == ['model.steps', 'model.conv.weight',\n"
        "                   'model.empty', 'model.mask',\n"
        "                   'optimizer.conv.weight.momentum_buffer'], list(d)\n"
        "w = d['model.conv.weight']\n"
        "assert w.dtype == torch.float32 and w.shape == (2, 3, 4)\n"
        "assert (w.flatten() == 10 + torch.arange(24)).all()\n"
        "assert d['model.steps'].item() == 0 and d['model.steps'].dim() == 0\n"
        "assert d['model.empty'].shape == (0, 7)\n"
        "assert d['model.mask'].tolist() == [30, 31, 32, 33, 34]\n"
        "assert d['model.mask'].dtype == torch.uint8\n"
        "w.add_(1)\n";
    char path[512], command[2048];
    struct fixture fixture;
    FILE *file;
    int status;

    snprintf(path, sizeof path, "%s", test_path("torch.pth"));
    fixture_make(&fixture);
    CHECK_STATUS(torch_zip_write(path, fixture.named, n_tensors, &err),
                 ASSAY_OK, &err);
    fixture_free(&fixture);
    file = fopen(test_path("load.py"), "w");
    CHECK(file != NULL);
    fputs(script, file);
    fclose(file);
    snprintf(command, sizeof command, "/usr/bin/python3 %s %s",
             test_path("load.py"), path);
    status = system(command);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python))
        SKIP("torch: /usr/bin/python3 has none (Debian: python3-torch)");
    CHECK_INT(status, 0);
}

TEST(a_type_that_pytorch_lacks_is_named)
{
    struct fixture fixture;
    const char *path = test_path("odd.pth");
    struct error refused = {0};

    fixture_make(&fixture);
    fixture.tensors[1].dtype = DTYPE_U32;
    CHECK_INT(torch_zip_write(path, fixture.named, n_tensors, &refused),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(refused.text, "model.conv.weight is uint32");
    CHECK(access(path, F_OK) != 0);
    fixture.tensors[1].dtype = DTYPE_F32;
    fixture_free(&fixture);
}

/* A limit on file sizes stands in for a full disk. */
TEST(a_full_disk_leaves_the_older_file_unchanged)
{
    const char *path = test_path("kept.safetensors");
    struct rlimit before, little;
    struct fixture fixture;
    struct checkpoint *read;
    struct error full = {0};

    fixture_make(&fixture);
    write_safetensors(&fixture, path);
    tensor_f32(&fixture.tensors[1])[0] = 99;
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 600;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &little), 0);
    CHECK_INT(
        safetensors_write(path, fixture.named, n_tensors, texts, 3, &full),
        ASSAY_IO);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_HAS(full.text, "kept.safetensors");
    tensor_f32(&fixture.tensors[1])[0] = 10;
    read = open_written(path);
    check_same(&fixture, read);
    checkpoint_free(read);
    fixture_free(&fixture);
}

TEST(writing_leaks_nothing_whichever_allocation_fails)
{
    struct fixture fixture;
    const char *path = test_path("leak.bin");

    fixture_make(&fixture);
    for (int format = 0; format < 2; format++) {
        long before = mem_live(), nth = 0;
        enum assay_status st;

        do {
            mem_fail_at(nth++);
            st = format ? torch_zip_write(path, fixture.named, n_tensors, NULL)
                        : safetensors_write(path, fixture.named, n_tensors,
                                            texts, 3, NULL);
            mem_fail_at(-1);
            CHECK_INT(mem_live(), before);
        } while (st);
        CHECK(nth > 3);
    }
    fixture_free(&fixture);
}
