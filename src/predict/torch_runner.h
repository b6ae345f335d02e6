/* predict/torch_runner.h - the user's PyTorch, through the Python package.
 *
 * It runs modules of the package (python/assay/torch_test.py, net_export.py),
 * which answer with blocks of fixed size: lines of a key and a value, filled up
 * with zeros. A network is exported by a process of its own. The process that
 * tests are copies of is started with the first one and stays until
 * torch_rest().
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_TORCH_RUNNER_H
#define PREDICT_TORCH_RUNNER_H

#include "base/child.h"
#include "predict/campaign.h"

enum { TORCH_ANSWER_BYTES = 8192 };

struct torch_host; /* torch_internal.h */

/* Borrows its texts. */
struct torch_runner {
    const char *python;  /* the interpreter: a path, or a name to search for */
    const char *package; /* the folder that holds the package assay */
    struct torch_host *host; /* NULL: not started yet */
};

/* Ends what waits for further tests, if anything does. */
void torch_rest(struct torch_runner *runner);

struct torch_answer {
    enum assay_status status; /* ASSAY_NOMEM: out of memory; ASSAY_UNSUPPORTED:
                                 failed otherwise; ASSAY_IO: see told */
    enum child_told told;     /* how the process of the test ended: with an
                                 answer, without one, or too late */
    int wait_status;          /* if it ended without one, as waitpid() has it */
    char reason[200];         /* if it failed */
    char library[48];         /* "PyTorch 1.13.1" */
    struct campaign_result result; /* as far as the answer says it */
};

/* Reads the text of an answer. ASSAY_BAD_INPUT if it is none. */
enum assay_status torch_answer_read(const char *text, size_t n,
                                    struct torch_answer *out,
                                    struct error *err);

/* Whether the interpreter has PyTorch, and it can use the device ("cpu",
 * "cuda:0"). The answer says what that is. */
enum assay_status torch_check(struct torch_runner *runner, const char *device,
                              struct torch_answer *out, struct error *err);

/* Writes the network that Python code makes, "my_models.py:make_net", to an
 * ONNX file, for images of side x side. */
enum assay_status torch_export(const struct torch_runner *runner,
                               const char *source, int64_t side,
                               const char *path, struct error *err);

/* Whether a name is Python code: "my_models.py:make_net". */
bool torch_is_source(const char *name);

#endif
