/* Reads real files of weights as checkpoint.h promises. */
#include "base/mem.h"
#include "formats/weights/checkpoint.h"
#include "tensor_sums.h"
#include "test.h"

#include <stdio.h>

#define FOLDER "models/torch/"

static struct checkpoint *open_shared(const char *name)
{
    struct checkpoint *checkpoint = NULL;
    const char *path = test_shared(name);
    struct error err = {0};

    if (!path)
        SKIP("%s: no ../shared/data", name);
    CHECK_STATUS(checkpoint_open(path, &checkpoint, &err), ASSAY_OK, &err);
    return checkpoint;
}

static void check_shared(const char *name, const char *table,
                         enum checkpoint_kind kind, size_t n)
{
    struct checkpoint *checkpoint = open_shared(name);

    CHECK_INT(checkpoint_kind(checkpoint), kind);
    CHECK_INT(check_table(checkpoint, test_shared(table)), n);
    checkpoint_free(checkpoint);
}

TEST(a_flat_zip_checkpoint_has_the_tensors_pytorch_finds_in_it)
{
    check_shared(FOLDER "fastestdet/weight_280-epoch.pth",
                 FOLDER "fastestdet/tensors.tsv", CHECKPOINT_TORCH_ZIP, 420);
}

TEST(a_zip_checkpoint_with_an_optimizer_also_has_its_tensors)
{
    check_shared(FOLDER "yunet_n/yunet_n.pth", FOLDER "yunet_n/tensors.tsv",
                 CHECKPOINT_TORCH_ZIP, 362);
}

TEST(a_legacy_checkpoint_has_the_tensors_pytorch_finds_in_it)
{
    check_shared(FOLDER "ultraface_rfb320/version-RFB-320.pth",
                 FOLDER "ultraface_rfb320/tensors.tsv", CHECKPOINT_TORCH_LEGACY,
                 244);
}

TEST(a_wrapped_legacy_checkpoint_has_the_tensors_pytorch_finds_in_it)
{
    check_shared(FOLDER "cifar_resnet20/resnet20-12fca82f.th",
                 FOLDER "cifar_resnet20/tensors.tsv", CHECKPOINT_TORCH_LEGACY,
                 97);
}

TEST(a_safetensors_file_has_the_tensors_its_header_names)
{
    check_shared(FOLDER "deimv2_atto/model.safetensors",
                 FOLDER "deimv2_atto/tensors.tsv", CHECKPOINT_SAFETENSORS, 479);
}

TEST(unwrapping_keeps_the_state_dict_and_drops_the_module_prefix)
{
    struct checkpoint *checkpoint =
        open_shared(FOLDER "cifar_resnet20/resnet20-12fca82f.th");
    struct error err = {0};
    size_t i;

    CHECK_INT(checkpoint_unwrap(checkpoint, &err), ASSAY_OK);
    CHECK_INT(checkpoint_count(checkpoint), 97);
    CHECK_STR(checkpoint_tensor(checkpoint, 0)->name, "conv1.weight");
    CHECK(checkpoint_find(checkpoint, "linear.bias", &i));
    CHECK(!checkpoint_find(checkpoint, "state_dict.module.linear.bias", &i));
    checkpoint_free(checkpoint);
}

TEST(unwrapping_drops_the_optimizer)
{
    struct checkpoint *checkpoint = open_shared(FOLDER "yunet_n/yunet_n.pth");
    struct error err = {0};

    CHECK_INT(checkpoint_unwrap(checkpoint, &err), ASSAY_OK);
    CHECK_INT(checkpoint_count(checkpoint), 208);
    checkpoint_free(checkpoint);
}

TEST(a_dense_tensor_of_a_zip_shares_the_mapped_file_and_is_writable)
{
    struct checkpoint *checkpoint =
        open_shared(FOLDER "fastestdet/weight_280-epoch.pth");
    struct error err = {0};
    struct tensor tensor;
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_INT(checkpoint_load(checkpoint, 0, pool, &tensor, &err), ASSAY_OK);
    CHECK_INT(pool_usage(pool).held_bytes, 0);
    CHECK(tensor_data(&tensor) == checkpoint_tensor(checkpoint, 0)->first);
    checkpoint_free(checkpoint);
    tensor_f32(&tensor)[0] = 3;
    CHECK_NEAR(tensor_f32(&tensor)[0], 3, 0);
    tensor_release(&tensor);
    pool_free(pool);
}

/* ---- refused ---------------------------------------------------------- */

/* Whether a global is in the file's section of globals.txt. */
static bool names_global(const char *list, const char *file, const char *global)
{
    char heading[64], line[300];
    const char *section, *end, *found;

    snprintf(heading, sizeof heading, "\n[%s", file);
    snprintf(line, sizeof line, "\n%s\n", global);
    section = strstr(list, heading);
    CHECK(section != NULL);
    end = strstr(section + 2, "\n[");
    found = strstr(section, line);
    return found && (!end || found < end);
}

static void check_refused(const char *name, const char *file)
{
    const char *path = test_shared(name), *from, *to;
    struct checkpoint *checkpoint;
    struct error err = {0};
    struct str list = {0};
    char global[256];

    if (!path)
        SKIP("%s: no ../shared/data", name);
    CHECK_INT(checkpoint_open(path, &checkpoint, &err), ASSAY_UNSUPPORTED);
    CHECK(checkpoint == NULL);
    from = strstr(err.text, "it names ");
    to = strstr(err.text, ", which is not loaded");
    CHECK(from && to);
    from += strlen("it names ");
    snprintf(global, sizeof global, "%.*s", (int)(to - from), from);
    CHECK_INT(file_read(test_shared(FOLDER "refuse/globals.txt"), 1 << 16,
                        &list, NULL),
              ASSAY_OK);
    CHECK(names_global(list.text, file, global));
    str_release(&list);
}

TEST(a_zip_checkpoint_of_a_whole_model_is_refused_naming_its_class)
{
    check_refused(FOLDER "refuse/yolov5n.pt", "yolov5n.pt");
}

TEST(a_legacy_checkpoint_of_a_whole_model_is_refused_naming_its_class)
{
    check_refused(FOLDER "refuse/face_mask_detection.pth",
                  "face_mask_detection.pth");
}

/* ---- damaged ---------------------------------------------------------- */

static void wrap(struct str *bytes, size_t n, struct buffer **out)
{
    CHECK_INT(buffer_wrap(bytes->text, n, NULL, NULL, out, NULL), ASSAY_OK);
}

/* Wherever a file is truncated, it is refused. */
static void check_cut(const char *name, size_t step)
{
    const char *path = test_shared(name);
    struct str bytes = {0};

    if (!path)
        SKIP("%s: no ../shared/data", name);
    CHECK_INT(file_read(path, 1 << 24, &bytes, NULL), ASSAY_OK);
    for (size_t n = 0; n < bytes.n; n += step) {
        struct checkpoint *checkpoint;
        struct error err = {0};
        struct buffer *file;

        wrap(&bytes, n, &file);
        CHECK(checkpoint_read(file, &checkpoint, &err) != ASSAY_OK);
        CHECK(checkpoint == NULL && err.text[0]);
        buffer_release(file);
    }
    str_release(&bytes);
}

TEST(a_truncated_zip_checkpoint_is_refused)
{
    check_cut(FOLDER "yunet_n/yunet_n.pth", 4999);
}

TEST(a_truncated_legacy_checkpoint_is_refused)
{
    check_cut(FOLDER "cifar_resnet20/resnet20-12fca82f.th", 4999);
}

TEST(a_truncated_safetensors_file_is_refused)
{
    check_cut(FOLDER "deimv2_atto/model.safetensors", 49999);
}

TEST(opening_leaks_nothing_whichever_allocation_fails)
{
    const char *path = test_shared(FOLDER "yunet_n/yunet_n.pth");
    long before = mem_live(), nth = 0;
    struct checkpoint *checkpoint;
    enum assay_status st;

    if (!path)
        SKIP("yunet_n.pth: no ../shared/data");
    do {
        mem_fail_at(nth);
        st = checkpoint_open(path, &checkpoint, NULL);
        if (!st)
            st = checkpoint_unwrap(checkpoint, NULL);
        mem_fail_at(-1);
        checkpoint_free(checkpoint);
        CHECK_INT(mem_live(), before);
        nth++;
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 10);
}

TEST(a_file_that_is_not_a_checkpoint_is_refused)
{
    const char *path = test_path("notes.pth");
    struct checkpoint *checkpoint;
    struct error err = {0};
    FILE *file = fopen(path, "w");

    fputs("<html>moved</html>\n", file);
    fclose(file);
    CHECK_INT(checkpoint_open(path, &checkpoint, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "notes.pth: it is neither a PyTorch checkpoint nor");
}

TEST(a_missing_file_is_named)
{
    struct checkpoint *checkpoint;
    struct error err = {0};

    CHECK_INT(checkpoint_open("/nowhere/a.pth", &checkpoint, &err),
              ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "cannot read /nowhere/a.pth");
    CHECK(checkpoint == NULL);
}
