/* Checkpoints of the installed PyTorch, in both formats. */
#include "formats/weights/checkpoint.h"
#include "tensor_sums.h"
#include "test.h"

#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { no_torch = 77, no_python = 127 };

/* Runs make_checkpoints.py once and returns its folder; skips the test without
 * PyTorch. */
static const char *made(void)
{
    static char folder[512], command[1200];
    static int status = -1;

    if (status < 0) {
        snprintf(folder, sizeof folder, "%s", test_path("made"));
        mkdir(folder, 0777);
        snprintf(command, sizeof command,
                 "/usr/bin/python3 %s/tests/formats/make_checkpoints.py %s",
                 TEST_SOURCE_DIR, folder);
        status = system(command);
    }
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_python))
        SKIP("torch: /usr/bin/python3 has no torch (Debian: python3-torch)");
    CHECK_INT(status, 0);
    return folder;
}

/* Checks every table that matches against the checkpoint next to it. */
static void check_tables(const char *pattern, size_t n)
{
    char path[600];
    glob_t found;

    snprintf(path, sizeof path, "%s/%s.tsv", made(), pattern);
    CHECK_INT(glob(path, 0, NULL, &found), 0);
    CHECK_INT(found.gl_pathc, n);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct checkpoint *checkpoint;
        struct error err = {0};

        snprintf(path, sizeof path, "%.*s.pth",
                 (int)strlen(found.gl_pathv[i]) - 4, found.gl_pathv[i]);
        CHECK_STATUS(checkpoint_open(path, &checkpoint, &err), ASSAY_OK, &err);
        check_table(checkpoint, found.gl_pathv[i]);
        checkpoint_free(checkpoint);
    }
    globfree(&found);
}

static enum assay_status
open_made(const char *name, struct checkpoint **checkpoint, struct error *err)
{
    char path[600];

    *err = (struct error){0};
    snprintf(path, sizeof path, "%s/%s", made(), name);
    return checkpoint_open(path, checkpoint, err);
}

TEST(zip_checkpoints_hold_what_pytorch_saved)
{
    check_tables("*-zip", 6);
}

TEST(legacy_checkpoints_hold_what_pytorch_saved)
{
    check_tables("*-legacy", 6);
}

TEST(checkpoints_of_pickle_protocol_4_hold_what_pytorch_saved)
{
    check_tables("*-protocol4", 6);
}

TEST(an_archive_with_enough_entries_for_zip64_is_read)
{
    check_tables("zip64", 1);
}

TEST(a_nested_checkpoint_unwraps_to_the_models_own_names)
{
    struct checkpoint *checkpoint;
    struct error err;
    size_t i;

    CHECK_STATUS(open_made("nested-zip.pth", &checkpoint, &err), ASSAY_OK,
                 &err);
    CHECK_INT(checkpoint_unwrap(checkpoint, &err), ASSAY_OK);
    CHECK_INT(checkpoint_count(checkpoint), 7);
    CHECK(checkpoint_find(checkpoint, "0.weight", &i));
    CHECK(checkpoint_find(checkpoint, "1.num_batches_tracked", &i));
    checkpoint_free(checkpoint);
}

TEST(files_that_are_not_checkpoints_of_tensors_are_refused)
{
    struct checkpoint *checkpoint;
    struct error err;

    CHECK_INT(open_made("compressed.refuse.pth", &checkpoint, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "is compressed, which is not supported");
    CHECK_INT(open_made("stranger.refuse.pth", &checkpoint, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "it names __main__.Stranger, which is not loaded");
    CHECK_INT(open_made("module.refuse.pth", &checkpoint, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "it names torch.nn.modules.linear.Linear, which");
}
