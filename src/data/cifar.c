/* data/cifar.c - CIFAR-10 and CIFAR-100, in their binary form.
 *
 * Files consist of records of one size: the label (CIFAR-100: the group, then
 * the label), then 32x32 pixels: all red, all green, all blue ones, rows from
 * the top. */
#include "data/dataset_internal.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 32, PIXELS = SIDE * SIDE, MOST_FILES = 5, MOST_HEAD = 2 };

/* How the two differ. */
struct cifar_form {
    const char *name, *folder, *python_folder, *archive;
    size_t head; /* bytes before the pixels; the label is the last */
    size_t n_classes;
    const char *names;                    /* one class per line */
    const char *files[2][MOST_FILES + 1]; /* by split */
};

static const struct cifar_form cifar10_form = {
    .name = "CIFAR-10",
    .folder = "cifar-10-batches-bin",
    .python_folder = "cifar-10-batches-py",
    .archive = "cifar-10-binary.tar.gz",
    .head = 1,
    .n_classes = 10,
    .names = "batches.meta.txt",
    .files = {[DATASET_TRAIN] = {"data_batch_1.bin", "data_batch_2.bin",
                                 "data_batch_3.bin", "data_batch_4.bin",
                                 "data_batch_5.bin"},
              [DATASET_TEST] = {"test_batch.bin"}},
};

static const struct cifar_form cifar100_form = {
    .name = "CIFAR-100",
    .folder = "cifar-100-binary",
    .python_folder = "cifar-100-python",
    .archive = "cifar-100-binary.tar.gz",
    .head = 2,
    .n_classes = 100,
    .names = "fine_label_names.txt",
    .files = {[DATASET_TRAIN] = {"train.bin"}, [DATASET_TEST] = {"test.bin"}},
};

struct cifar_file {
    const char *path; /* the dataset's */
    int fd;
    size_t n; /* samples */
};

struct cifar {
    const struct cifar_form *form;
    struct cifar_file files[MOST_FILES];
    size_t n_files;
};

static void cifar_close(void *content)
{
    struct cifar *cifar = content;

    for (size_t i = 0; cifar && i < cifar->n_files; i++)
        close(cifar->files[i].fd);
    mem_free(cifar);
}

static size_t record_bytes(const struct cifar_form *form)
{
    return form->head + (size_t)PIXELS * 3;
}

/* ---- opening ---------------------------------------------------------- */

/* Finds the folder with the files: the path, or the one that the archive
 * creates in it. */
static enum assay_status cifar_find_folder(struct dataset *dataset,
                                           const struct cifar_form *form,
                                           const char *path, const char *file,
                                           const char **folder,
                                           struct error *err)
{
    const char *first = NULL;
    enum assay_status st;

    if (folder_has(path, form->folder))
        return dataset_text(dataset, folder, err, "%s/%s", path, form->folder);
    st = dataset_text(dataset, folder, err, "%s", path);
    if (!st)
        st = dataset_text(dataset, &first, err, "%s/%s", path, file);
    if (st || access(first, F_OK) == 0)
        return st;
    if (folder_has(path, form->python_folder))
        return error_set(err, ASSAY_NOT_FOUND,
                         "%s holds the Python version of %s; unpack the binary "
                         "version there: %s",
                         path, form->name, form->archive);
    return error_set(err, ASSAY_NOT_FOUND,
                     "no %s in %s; looked for %s and %s/%s, as %s has them",
                     form->name, path, file, form->folder, file, form->archive);
}

static enum assay_status cifar_check_size(const struct cifar_form *form,
                                          struct cifar_file *file,
                                          struct error *err)
{
    size_t record = record_bytes(form);
    struct stat info;

    if (fstat(file->fd, &info))
        return error_errno(err, errno, "reading %s", file->path);
    if (info.st_size == 0 || (uint64_t)info.st_size % record)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s is not a file of %s: it has %lld bytes, but a sample has %zu",
            file->path, form->name, (long long)info.st_size, record);
    file->n = (size_t)((uint64_t)info.st_size / record);
    return ASSAY_OK;
}

static enum assay_status cifar_open_file(struct dataset *dataset,
                                         const char *folder, const char *name,
                                         struct error *err)
{
    struct cifar *cifar = dataset->content;
    struct cifar_file *file = &cifar->files[cifar->n_files];
    enum assay_status st =
        dataset_text(dataset, &file->path, err, "%s/%s", folder, name);

    if (st)
        return st;
    st = file_open(file->path, &file->fd, err);
    if (st)
        return st;
    cifar->n_files++;
    st = cifar_check_size(cifar->form, file, err);
    dataset->n += st ? 0 : file->n;
    return st;
}

/* One class per line; the archives end with blank lines. */
static enum assay_status cifar_read_names(struct dataset *dataset,
                                          const char *path, const char *text,
                                          struct error *err)
{
    const struct cifar *cifar = dataset->content;
    size_t wanted = cifar->form->n_classes;
    enum assay_status st = ASSAY_OK;

    while (!st && *text && dataset->n_classes < wanted) {
        size_t n = strcspn(text, "\r\n");

        if (n)
            st = dataset_add_class(dataset, text, n, err);
        text += n + (text[n] != '\0');
    }
    if (!st && dataset->n_classes < wanted)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s names %zu classes; there should be %zu", path,
                       dataset->n_classes, wanted);
    return st;
}

static enum assay_status open_names(struct dataset *dataset, const char *folder,
                                    struct error *err)
{
    enum { most_bytes = 1 << 20 };
    const struct cifar *cifar = dataset->content;
    struct str text = {0};
    const char *path;
    enum assay_status st =
        dataset_text(dataset, &path, err, "%s/%s", folder, cifar->form->names);

    if (!st)
        st = file_read(path, most_bytes, &text, err);
    if (!st)
        st = cifar_read_names(dataset, path, text.text, err);
    str_release(&text);
    return st;
}

static enum assay_status cifar_open(struct dataset *dataset,
                                    const struct dataset_options *options,
                                    struct error *err)
{
    const struct cifar_form *form =
        dataset->class == &cifar100_class ? &cifar100_form : &cifar10_form;
    const char *const *files = form->files[options->split];
    struct cifar *cifar;
    const char *folder = NULL;
    enum assay_status st =
        cifar_find_folder(dataset, form, options->path, files[0], &folder, err);

    if (st)
        return st;
    dataset->content = cifar = mem_zalloc(sizeof *cifar);
    if (!cifar)
        return error_nomem(err, sizeof *cifar, "a dataset");
    cifar->form = form;
    for (size_t i = 0; !st && files[i]; i++)
        st = cifar_open_file(dataset, folder, files[i], err);
    if (!st)
        st = open_names(dataset, folder, err);
    if (options->limit && options->limit < dataset->n)
        dataset->n = options->limit;
    return st;
}

/* ---- reading ---------------------------------------------------------- */

/* Reads n bytes of sample i, starting at `from`. *in: its file. */
static enum assay_status cifar_read_bytes(const struct cifar *cifar, size_t i,
                                          size_t from, uint8_t *bytes, size_t n,
                                          const struct cifar_file **in,
                                          struct error *err)
{
    const struct cifar_file *file = cifar->files;
    ssize_t got;

    while (i >= file->n)
        i -= file++->n;
    *in = file;
    got = pread(file->fd, bytes, n,
                (off_t)(i * record_bytes(cifar->form) + from));
    if (got == (ssize_t)n)
        return ASSAY_OK;
    if (got < 0)
        return error_errno(err, errno, "reading %s", file->path);
    return error_set(err, ASSAY_IO, "%s has become shorter", file->path);
}

static enum assay_status cifar_target(const struct dataset *dataset, size_t i,
                                      struct dataset_target *out,
                                      struct error *err)
{
    const struct cifar *cifar = dataset->content;
    const struct cifar_form *form = cifar->form;
    const struct cifar_file *file;
    uint8_t head[MOST_HEAD];
    enum assay_status st =
        cifar_read_bytes(cifar, i, 0, head, form->head, &file, err);

    if (st)
        return st;
    *out = (struct dataset_target){.path = file->path,
                                   .id = (int64_t)i,
                                   .label = head[form->head - 1],
                                   .width = SIDE,
                                   .height = SIDE};
    if ((size_t)out->label >= form->n_classes)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s: sample %zu has class %lld, but %s has %zu classes", file->path,
            i, (long long)out->label, form->name, form->n_classes);
    return ASSAY_OK;
}

static enum assay_status cifar_picture(const struct dataset *dataset, size_t i,
                                       struct picture *out, struct error *err)
{
    const struct cifar *cifar = dataset->content;
    const struct cifar_file *file;
    uint8_t planes[3 * PIXELS]; /* red, green, blue */
    enum assay_status st = picture_init(out, SIDE, SIDE, err);

    if (!st)
        st = cifar_read_bytes(cifar, i, cifar->form->head, planes,
                              sizeof planes, &file, err);
    for (size_t k = 0; !st && k < PIXELS; k++) {
        for (size_t c = 0; c < 3; c++)
            out->rgb[k * 3 + c] = planes[c * PIXELS + k];
    }
    if (st)
        picture_release(out);
    return st;
}

const struct dataset_class cifar10_class = {
    .name = "cifar10",
    .open = cifar_open,
    .target = cifar_target,
    .picture = cifar_picture,
    .close = cifar_close,
};

const struct dataset_class cifar100_class = {
    .name = "cifar100",
    .open = cifar_open,
    .target = cifar_target,
    .picture = cifar_picture,
    .close = cifar_close,
};
