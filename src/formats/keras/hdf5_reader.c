/* formats/keras/hdf5_reader.c - see hdf5_reader_internal.h.
 *
 * Parent and child take turns: a question, then an answer followed by bytes,
 * until the parent ends the child. */
#include "formats/keras/hdf5_reader_internal.h"

#include "base/child.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "formats/keras/keras_hdf5_internal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* CPU time, not wall time: a slow disk is not an endless loop. HDF5 reads some
 * hundred MB per second even if data is compressed. */
enum { least_seconds = 20, bytes_per_second = 10 << 20 };

/* Bytes of all names of datasets; far more than any model has. */
static const size_t max_names = (size_t)64 << 20;

enum question_kind { ASK_ATTRIBUTE, ASK_DATASET };

struct question {
    enum question_kind kind;
    size_t dataset;
    char attribute[32];
};

/* The head of an answer; its bytes follow. */
struct answer {
    enum assay_status st;
    char text[sizeof((struct error *)0)->text];
    bool is_there;
    struct shape shape;
    size_t bytes;
};

struct hdf5_reader {
    struct child child;
    char *names;  /* of the datasets, each ended by a NUL */
    char **paths; /* into names */
    size_t n, capacity;
    struct map by_path;
};

/* ---- in the child ------------------------------------------------------- */

static rlim_t hdf5_most_seconds(const struct keras_hdf5_source *source)
{
    return least_seconds + source->bytes / bytes_per_second;
}

static bool hdf5_send_answer(int line, struct answer *answer,
                             const struct error *err, const void *bytes)
{
    memcpy(answer->text, err->text, sizeof answer->text);
    if (answer->st)
        answer->bytes = 0;
    return child_send(line, answer, sizeof *answer, 0) == CHILD_TOLD &&
           child_send(line, bytes, answer->bytes, 0) == CHILD_TOLD;
}

static bool hdf5_send_names(int line, const struct keras_hdf5 *file,
                            enum assay_status st, struct error *err)
{
    struct answer answer = {.st = st};
    struct str names = {0};
    const char *path;

    for (size_t i = 0; !answer.st && (path = keras_hdf5_dataset(file, i));
         i++) {
        if (names.n > max_names)
            answer.st =
                error_set(err, ASSAY_BAD_INPUT, "it has too many datasets");
        else if (str_append_n(&names, path, strlen(path) + 1))
            answer.st = error_nomem(err, names.n, "the names of datasets");
    }
    answer.bytes = names.n;
    return hdf5_send_answer(line, &answer, err, names.text) && !answer.st;
}

static bool hdf5_send_attribute(int line, const struct keras_hdf5 *file,
                                const char *name)
{
    struct answer answer = {0};
    struct error err = {0};
    struct str text = {0};
    bool is_sent;

    answer.st = keras_hdf5_attribute(file, name, &text, &answer.is_there, &err);
    answer.bytes = text.n;
    is_sent = hdf5_send_answer(line, &answer, &err, text.text);
    str_release(&text);
    return is_sent;
}

static bool hdf5_send_dataset(int line, const struct keras_hdf5 *file, size_t i,
                              struct pool *pool)
{
    struct tensor data = {0};
    struct answer answer = {0};
    struct error err = {0};
    bool is_sent;

    answer.st =
        keras_hdf5_read(file, keras_hdf5_dataset(file, i), pool, &data, &err);
    answer.shape = data.shape;
    answer.bytes = answer.st ? 0 : tensor_bytes(&data);
    is_sent = hdf5_send_answer(line, &answer, &err,
                               answer.st ? NULL : tensor_data(&data));
    tensor_release(&data);
    return is_sent;
}

/* Frees nothing: the process ends afterwards. */
static void hdf5_answer_questions(void *context, int line)
{
    const struct keras_hdf5_source *source = context;
    /* SIGXCPU at the first limit says why; SIGKILL follows at the second. */
    const struct rlimit seconds = {hdf5_most_seconds(source),
                                   hdf5_most_seconds(source) + least_seconds};
    struct keras_hdf5 *file = NULL;
    struct question question;
    struct error err = {0};
    struct pool *pool;
    enum assay_status st = pool_new(&pool, &err);
    bool is_sent;

    setrlimit(RLIMIT_CPU, &seconds);
    if (!st)
        st = keras_hdf5_open(source, &file, &err);
    is_sent = hdf5_send_names(line, file, st, &err);
    while (is_sent &&
           child_receive(line, &question, sizeof question, 0) == CHILD_TOLD)
        is_sent = question.kind == ASK_ATTRIBUTE
                      ? hdf5_send_attribute(line, file, question.attribute)
                      : hdf5_send_dataset(line, file, question.dataset, pool);
}

/* ---- in the parent ------------------------------------------------------ */

/* Reports why the child is gone. */
static enum assay_status hdf5_explain_end(struct hdf5_reader *reader,
                                          struct error *err)
{
    int status = child_end(&reader->child, true, NULL);

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the HDF5 library does not finish reading it; the "
                         "file is damaged, fetch or copy it again");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return error_set(err, ASSAY_NOMEM,
                         "the process that read it was killed: either memory "
                         "ran out or the file is damaged");
    return error_set(err, ASSAY_BAD_INPUT,
                     "the HDF5 library crashed on it; the file is damaged, "
                     "fetch or copy it again");
}

/* Receives the head of an answer. A failure that the child reports is a failure
 * of this call. */
static enum assay_status hdf5_receive_answer(struct hdf5_reader *reader,
                                             struct answer *answer,
                                             struct error *err)
{
    if (child_receive(reader->child.line, answer, sizeof *answer, 0))
        return hdf5_explain_end(reader, err);
    answer->text[sizeof answer->text - 1] = '\0';
    if (!answer->st)
        return ASSAY_OK;
    return error_set(err,
                     answer->st == ASSAY_NOMEM ||
                             answer->st == ASSAY_UNSUPPORTED
                         ? answer->st
                         : ASSAY_BAD_INPUT,
                     "%s", answer->text);
}

static enum assay_status hdf5_receive_bytes(struct hdf5_reader *reader,
                                            void *bytes, size_t n,
                                            struct error *err)
{
    return child_receive(reader->child.line, bytes, n, 0)
               ? hdf5_explain_end(reader, err)
               : ASSAY_OK;
}

/* Sends a question and receives the head of the answer. */
static enum assay_status hdf5_ask(struct hdf5_reader *reader,
                                  const struct question *question,
                                  struct answer *answer, struct error *err)
{
    if (!reader->child.pid ||
        child_send(reader->child.line, question, sizeof *question, 0))
        return hdf5_explain_end(reader, err);
    return hdf5_receive_answer(reader, answer, err);
}

static enum assay_status hdf5_refuse_answer(struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "the HDF5 library returned nonsense for it; the file is "
                     "damaged, fetch or copy it again");
}

static enum assay_status hdf5_add_path(struct hdf5_reader *reader, char *path,
                                       struct error *err)
{
    char **moved = vec_reserve(reader->paths, &reader->capacity, reader->n + 1,
                               sizeof *reader->paths);

    if (moved)
        reader->paths = moved;
    if (!moved || map_put_text(&reader->by_path, path, reader->n))
        return error_nomem(err, strlen(path), "the names of datasets");
    reader->paths[reader->n++] = path;
    return ASSAY_OK;
}

static enum assay_status hdf5_receive_names(struct hdf5_reader *reader,
                                            struct error *err)
{
    struct answer answer;
    enum assay_status st = hdf5_receive_answer(reader, &answer, err);

    if (st)
        return st;
    if (answer.bytes > 2 * max_names)
        return hdf5_refuse_answer(err);
    reader->names = mem_zalloc(answer.bytes + 1);
    if (!reader->names)
        return error_nomem(err, answer.bytes, "the names of datasets");
    st = hdf5_receive_bytes(reader, reader->names, answer.bytes, err);
    for (size_t at = 0; !st && at < answer.bytes;
         at += strlen(reader->names + at) + 1)
        st = hdf5_add_path(reader, reader->names + at, err);
    return st;
}

static enum assay_status
hdf5_reader_open_source(const struct keras_hdf5_source *source,
                        struct hdf5_reader **out, struct error *err)
{
    const struct child_options options = {.what = "reading HDF5",
                                          .is_quiet = true,
                                          .is_expendable = true,
                                          .leaves_interrupt = true};
    struct hdf5_reader *reader = mem_zalloc(sizeof *reader);
    enum assay_status st;

    *out = NULL;
    if (!reader)
        return error_nomem(err, sizeof *reader, "an HDF5 file");
    st = child_start(&reader->child, &options, hdf5_answer_questions,
                     (void *)source, err);
    if (!st)
        st = hdf5_receive_names(reader, err);
    if (st)
        hdf5_reader_close(reader);
    else
        *out = reader;
    return st;
}

enum assay_status hdf5_reader_open(const char *path, struct hdf5_reader **out,
                                   struct error *err)
{
    struct keras_hdf5_source source = {.path = path};
    struct stat info;

    if (stat(path, &info) == 0)
        source.bytes = (size_t)info.st_size;
    return hdf5_reader_open_source(&source, out, err);
}

enum assay_status hdf5_reader_open_image(const void *image, size_t bytes,
                                         struct hdf5_reader **out,
                                         struct error *err)
{
    return hdf5_reader_open_source(
        &(struct keras_hdf5_source){.image = image, .bytes = bytes}, out, err);
}

void hdf5_reader_close(struct hdf5_reader *reader)
{
    if (!reader)
        return;
    child_end(&reader->child, true, NULL);
    map_release(&reader->by_path);
    mem_free(reader->paths);
    mem_free(reader->names);
    mem_free(reader);
}

const char *hdf5_reader_dataset(const struct hdf5_reader *reader, size_t i)
{
    return i < reader->n ? reader->paths[i] : NULL;
}

bool hdf5_reader_find(const struct hdf5_reader *reader, const char *path,
                      size_t *i)
{
    uint64_t found;

    if (!map_find_text(&reader->by_path, path, &found))
        return false;
    *i = (size_t)found;
    return true;
}

enum assay_status hdf5_reader_attribute(struct hdf5_reader *reader,
                                        const char *name, struct str *text,
                                        bool *is_there, struct error *err)
{
    struct question question = {.kind = ASK_ATTRIBUTE};
    struct answer answer = {0};
    char *bytes = NULL;
    enum assay_status st;

    *is_there = false;
    snprintf(question.attribute, sizeof question.attribute, "%s", name);
    st = hdf5_ask(reader, &question, &answer, err);
    if (!st && answer.bytes > KERAS_HDF5_MAX_ATTRIBUTE)
        st = hdf5_refuse_answer(err);
    if (st || !answer.bytes) {
        *is_there = !st && answer.is_there;
        return st;
    }
    bytes = mem_alloc(answer.bytes);
    if (!bytes)
        st = error_nomem(err, answer.bytes, "an attribute");
    if (!st)
        st = hdf5_receive_bytes(reader, bytes, answer.bytes, err);
    if (!st && str_append_n(text, bytes, answer.bytes))
        st = error_nomem(err, answer.bytes, "an attribute");
    *is_there = !st;
    mem_free(bytes);
    return st;
}

enum assay_status hdf5_reader_read(struct hdf5_reader *reader, size_t i,
                                   struct pool *pool, struct tensor *out,
                                   struct error *err)
{
    struct question question = {.kind = ASK_DATASET, .dataset = i};
    struct answer answer = {0};
    enum assay_status st = hdf5_ask(reader, &question, &answer, err);
    size_t n;

    *out = (struct tensor){0};
    if (!st && (answer.shape.rank < 0 || answer.shape.rank > SHAPE_MAX_RANK ||
                !shape_elements(&answer.shape, &n) ||
                answer.bytes / sizeof(float) != n))
        st = hdf5_refuse_answer(err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &answer.shape, out, err);
    if (!st)
        st = hdf5_receive_bytes(reader, tensor_data(out), answer.bytes, err);
    if (st)
        tensor_release(out);
    return st;
}
