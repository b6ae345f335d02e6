/* What base/error.h promises. */
#include "base/error.h"
#include "test.h"

#include <errno.h>
#include <string.h>

TEST(the_first_message_wins)
{
    struct error err = {0};

    CHECK_INT(error_set(&err, ASSAY_NOT_FOUND, "no run %d", 42),
              ASSAY_NOT_FOUND);
    CHECK_INT(error_set(&err, ASSAY_IO, "later"), ASSAY_IO);
    CHECK_STR(err.text, "no run 42");
    CHECK_INT(err.status, ASSAY_NOT_FOUND);
}

TEST(layers_add_context)
{
    struct error err = {0};

    error_context(&err, "nothing to add to");
    CHECK_STR(err.text, "");
    error_set(&err, ASSAY_BAD_INPUT, "mode 'cubic' is not supported");
    error_context(&err, "node %d (%s)", 12, "Resize");
    error_context(&err, "reading model.onnx");
    CHECK_STR(err.text, "reading model.onnx: node 12 (Resize): "
                        "mode 'cubic' is not supported");
}

TEST(a_hint_follows_the_message)
{
    struct error err = {0};

    error_hint(&err, "nothing to add to");
    CHECK_STR(err.text, "");
    error_set(&err, ASSAY_BAD_INPUT, "no row is left");
    error_hint(&err, "--nets chooses others");
    CHECK_STR(err.text, "no row is left; --nets chooses others");
    memset(err.text, 'x', sizeof err.text - 3);
    err.text[sizeof err.text - 3] = '\0';
    error_hint(&err, "what does not fit");
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
    CHECK_STR(err.text + sizeof err.text - 4, "...");
}

TEST(a_long_message_is_cut_with_dots)
{
    struct error err = {0};
    char name[400];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    error_set(&err, ASSAY_IO, "cannot read %s", name);
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
    CHECK_STR(err.text + sizeof err.text - 4, "...");
}

TEST(a_message_stays_one_line_whatever_the_name)
{
    struct error err = {0};

    error_set(&err, ASSAY_IO, "no %s", "a\nb\033[31m\x7f");
    CHECK_STR(err.text, "no a?b?[31m?");
}

TEST(memory_failures_say_how_much_for_what)
{
    struct error err = {0};

    CHECK_INT(error_nomem(&err, 12 << 20, "the scope table"), ASSAY_NOMEM);
    CHECK_STR(err.text, "out of memory: 12.0 MiB needed for the scope table");
}

TEST(errno_decides_the_status)
{
    struct error err = {0};

    CHECK_INT(error_errno(&err, ENOENT, "opening %s", "x"), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "opening x: No such file or directory");
    CHECK_INT(error_errno(NULL, EACCES, "opening"), ASSAY_IO);
    CHECK_INT(error_errno(NULL, ENOMEM, "opening"), ASSAY_NOMEM);
}

TEST(exit_codes_are_those_of_the_manual)
{
    CHECK_INT(status_exit_code(ASSAY_OK), 0);
    CHECK_INT(status_exit_code(ASSAY_CHECK_FAILED), 1);
    CHECK_INT(status_exit_code(ASSAY_BAD_USAGE), 2);
    CHECK_INT(status_exit_code(ASSAY_IO), 3);
    CHECK_INT(status_exit_code(ASSAY_NOMEM), 4);
    CHECK_INT(status_exit_code(ASSAY_TOO_NOISY), 5);
    CHECK_STR(assay_status_name(ASSAY_TOO_NOISY), "ASSAY_TOO_NOISY");
    CHECK_STR(assay_status_name((enum assay_status)99), "ASSAY_?");
}

TEST(a_failure_reaches_the_public_error_with_a_sentence)
{
    struct assay_error out = {0};
    struct error err = {0};

    error_export(&err, ASSAY_NOMEM, &out);
    CHECK_STR(out.text, "out of memory");
    error_set(&err, ASSAY_IO, "disk");
    CHECK_INT(error_export(&err, ASSAY_IO, &out), ASSAY_IO);
    CHECK_STR(out.text, "disk");
}
