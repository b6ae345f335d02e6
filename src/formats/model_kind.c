/* formats/model_kind.c - see model_kind.h. */
#include "formats/model_kind.h"

#include "base/str.h"
#include "formats/mapped_file_internal.h"
#include "formats/net/net.h"
#include "formats/torch/torch_values_internal.h"
#include "formats/weights/checkpoint.h"
#include "formats/zip_index_internal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The two ways out for a model of PyTorch; a photograph is an example of an
 * input. */
#define EXPORT_LINE(model)                                                     \
    "export it to ONNX with torch.onnx.export(" model                          \
    ", photo, 'model.onnx'), or use Python's `assay`"

struct suspect {
    const char *path;
    struct buffer *file;
    const unsigned char *bytes;
    size_t n;
};

static bool model_kind_has(const struct suspect *suspect, size_t at,
                           const char *magic, size_t n)
{
    return suspect->n >= at + n && memcmp(suspect->bytes + at, magic, n) == 0;
}

/* The path, or its end if the rest of the message would not fit. */
static const char *model_kind_path(const char *path)
{
    enum { most = 56 };
    size_t n = strlen(path);
    const char *slash = strrchr(path, '/');

    if (n <= most)
        return path;
    return slash && strlen(slash + 1) <= most ? slash + 1 : path + n - most;
}

/* what: what it is, and what to do; NULL: it may be a model. */
static enum assay_status model_kind_refuse(const char *path, const char *what,
                                           struct error *err)
{
    return what ? error_set(err, ASSAY_BAD_INPUT, "reading %s: %s",
                            model_kind_path(path), what)
                : ASSAY_OK;
}

/* ---- PyTorch ------------------------------------------------------------ */

static const char weights[] =
    "it holds weights, not a model; load them into a built-in model, or if it "
    "is your own, " EXPORT_LINE("model");

/* A file of torch.save(): weights, or a module, which only the Python code of
 * its classes can load. */
static enum assay_status model_kind_refuse_torch(const struct suspect *suspect,
                                                 struct error *err)
{
    struct checkpoint *checkpoint;
    struct error why = {0};
    enum assay_status st = checkpoint_read(suspect->file, &checkpoint, &why);
    char name[44];

    checkpoint_free(checkpoint);
    if (!st)
        return model_kind_refuse(suspect->path, weights, err);
    if (torch_refused_name(&why, name, sizeof name))
        return error_set(err, ASSAY_BAD_INPUT,
                         "reading %s: it is a whole model, pickled by "
                         "torch.save() (%s); " EXPORT_LINE("model"),
                         model_kind_path(suspect->path), name);
    error_context(&why, "reading %s", suspect->path);
    return error_set(err, st, "%s", why.text);
}

/* ---- archives ----------------------------------------------------------- */

/* What the names of an archive's entries show. */
struct contents {
    bool has_config, has_code, has_constants, has_pickle, has_saved_model;
    size_t n_arrays;
};

static void model_kind_note_entry(struct contents *contents, const char *name,
                                  size_t n)
{
    static const char config[] = "config.json";
    const char *slash = memchr(name, '/', n);
    size_t folder = slash ? (size_t)(slash - name) + 1 : 0;

    contents->has_config |=
        n == sizeof config - 1 && memcmp(name, config, n) == 0;
    contents->has_code |=
        folder && n > folder + 5 && memcmp(name + folder, "code/", 5) == 0;
    contents->has_constants |= str_ends_with_n(name, n, "/constants.pkl");
    contents->has_pickle |= str_ends_with_n(name, n, "data.pkl");
    contents->has_saved_model |= str_ends_with_n(name, n, "saved_model.pb");
    contents->n_arrays += str_ends_with_n(name, n, ".npy");
}

static const char saved_model[] =
    "it is a TensorFlow SavedModel; convert it: python3 -m tf2onnx.convert "
    "--saved-model DIR --output model.onnx; or save it from Keras as .keras";

static enum assay_status model_kind_check_zip(const struct suspect *suspect,
                                              struct error *err)
{
    struct contents contents = {0};
    struct zip_index index = {0};
    enum assay_status st =
        zip_index_read(&index, suspect->bytes, suspect->n, err);
    bool is_all_arrays;
    const char *what;

    for (size_t i = 0; !st && i < index.n; i++)
        model_kind_note_entry(&contents, index.entries[i].name,
                              index.entries[i].name_bytes);
    is_all_arrays = contents.n_arrays && contents.n_arrays == index.n;
    zip_index_release(&index);
    if (st) {
        error_context(err, "reading %s", suspect->path);
        return st;
    }
    if (contents.has_config)
        return ASSAY_OK; /* Keras */
    if (contents.has_code && contents.has_constants)
        what = "it is a TorchScript model, which only PyTorch "
               "runs; " EXPORT_LINE("torch.jit.load('FILE')");
    else if (contents.has_pickle)
        return model_kind_refuse_torch(suspect, err);
    else if (contents.has_saved_model)
        what = saved_model;
    else if (is_all_arrays)
        what = "it holds NumPy arrays, not a model; use an ONNX or Keras file";
    else
        what = "it is a zip archive of neither Keras nor PyTorch; if the model "
               "is inside, unpack it";
    return model_kind_refuse(suspect->path, what, err);
}

/* ---- by the first bytes ------------------------------------------------- */

static const char compressed[] = "it is compressed; unpack it first (but assay "
                                 "import reads compressed traces)";
static const char picture[] =
    "it is a picture; the model comes before it: assay run MODEL PHOTOGRAPH";
static const char pickled[] = "it is a Python pickle, which is not loaded; if "
                              "it holds a model, " EXPORT_LINE("model");

#define MAGIC(at, text) at, sizeof(text) - 1, text

static const struct {
    size_t at, n;
    const char *magic, *what;
} others[] = {
    {MAGIC(4, "TFL3"),
     "it is a TensorFlow Lite model, which is not supported; convert it: "
     "python3 -m tf2onnx.convert --tflite FILE --output model.onnx"},
    {MAGIC(4, "ORTM"), "it is a model in ONNX Runtime's own format, which is "
                       "not supported; use the .onnx file it was made from"},
    {MAGIC(0, "GGUF"), "it is a GGUF file of a language model; only vision "
                       "models in ONNX and Keras files are supported"},
    {MAGIC(0, "\x93NUMPY"),
     "it is a NumPy array, not a model; use an ONNX or Keras file"},
    {MAGIC(0, "\xff\xd8\xff"), picture},
    {MAGIC(0, "\x89PNG"), picture},
    {MAGIC(0, "GIF8"), picture},
    {MAGIC(8, "WEBP"), picture},
    {MAGIC(68, "ASAY"), "it is a run; 'assay show RUN' shows it"},
    {MAGIC(68, "Ascy"),
     "it is the log of a campaign; 'assay fingerprint fit' reads its folder"},
    {MAGIC(0, "SQLite format 3"), "it is a database, not a model"},
    {MAGIC(0, "assay fingerprint"),
     "it is the fingerprint of a device; 'assay predict' uses it"},
    {MAGIC(0, "version https://git-lfs"),
     "it is a Git LFS pointer; git lfs pull fetches the file itself"},
    {MAGIC(0, "\x1f\x8b"), compressed},
    {MAGIC(0, "BZh"), compressed},
    {MAGIC(0, "\xfd"
              "7zXZ"),
     compressed},
    {MAGIC(0, "\x28\xb5\x2f\xfd"), compressed},
    {MAGIC(0, "PK\5\6"), "it is an empty zip archive"},
    {MAGIC(257, "ustar"), "it is a tar archive; unpack it first"},
    {MAGIC(0, "\x80\2"), pickled},
    {MAGIC(0, "\x80\3"), pickled},
    {MAGIC(0, "\x80\4"), pickled},
    {MAGIC(0, "\x80\5"), pickled},
    {MAGIC(0, "\x7f"
              "ELF"),
     "it is a program or a library, not a model"},
    {MAGIC(0, "%PDF"), "it is a PDF document, not a model"},
};

/* ---- texts -------------------------------------------------------------- */

/* Whether it begins with text only: no supported format does. */
static bool model_kind_is_text(const struct suspect *suspect)
{
    enum { looked_at = 512 };
    size_t n = suspect->n < looked_at ? suspect->n : looked_at;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = suspect->bytes[i];

        if (c == 0x7f || (c < ' ' && !strchr("\t\n\r\f", c)) || !c)
            return false;
    }
    return n > 0;
}

static const char *model_kind_of_text(const struct suspect *suspect)
{
    size_t i = 0;

    while (i + 1 < suspect->n && strchr(" \t\n\r\f", suspect->bytes[i]))
        i++;
    if (str_ends_with(suspect->path, ".py"))
        return "it is Python, which is not executed; if it makes a "
               "model, " EXPORT_LINE("model");
    if (suspect->bytes[i] == '<')
        return "it is a web page or XML, not a model; if it was downloaded, "
               "fetch the file itself";
    if (suspect->bytes[i] == '{')
        return "it is JSON, not a model; 'assay import' reads traces; save a "
               "Keras model with model.save('model.keras')";
    return "it is a text file, not a model; use an ONNX or Keras file or a "
           ".net description";
}

/* ---- all of them -------------------------------------------------------- */

enum assay_status model_kind_check_bytes(const char *path, struct buffer *file,
                                         struct error *err)
{
    /* A pickle of protocol 2 with PyTorch's magic number. */
    static const char legacy[] = "\x80\2\x8a\n\x6c\xfc\x9c\x46";
    struct suspect suspect = {path, file, buffer_data(file),
                              buffer_bytes(file)};
    const char *what = NULL;

    if (net_is(suspect.bytes, suspect.n))
        return ASSAY_OK;
    if (str_ends_with(path, "saved_model.pb"))
        return model_kind_refuse(path, saved_model, err);
    if (model_kind_has(&suspect, 0, "PK\3\4", 4))
        return model_kind_check_zip(&suspect, err);
    if (model_kind_has(&suspect, 0, legacy, sizeof legacy - 1))
        return model_kind_refuse_torch(&suspect, err);
    /* safetensors: a length of eight bytes, then JSON. */
    if (suspect.n > 8 && !suspect.bytes[7] && suspect.bytes[8] == '{')
        what = weights;
    for (size_t i = 0; !what && i < sizeof others / sizeof *others; i++) {
        if (model_kind_has(&suspect, others[i].at, others[i].magic,
                           others[i].n))
            what = others[i].what;
    }
    if (!what && model_kind_is_text(&suspect))
        what = model_kind_of_text(&suspect);
    return model_kind_refuse(path, what, err);
}

/* Refuses a folder, and names the model in it if there is one. */
static enum assay_status model_kind_refuse_folder(const char *path,
                                                  struct error *err)
{
    static const char *const models[] = {".onnx", ".keras", ".h5", ".hdf5",
                                         ".net"};
    DIR *folder = opendir(path);
    struct dirent *entry;
    char file[64] = "";
    bool is_saved_model = false;

    if (!folder)
        return error_errno(err, errno, "cannot read %s", path);
    while ((entry = readdir(folder))) {
        size_t n = strlen(entry->d_name);

        is_saved_model |= strcmp(entry->d_name, "saved_model.pb") == 0;
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            if (str_ends_with_n(entry->d_name, n, models[i]) &&
                n < sizeof file &&
                (!file[0] || strcmp(entry->d_name, file) < 0))
                memcpy(file, entry->d_name, n + 1);
        }
    }
    closedir(folder);
    if (file[0] && !is_saved_model)
        return error_set(err, ASSAY_BAD_INPUT,
                         "reading %s: it is a folder; name the model in it, "
                         "%s/%s",
                         model_kind_path(path), model_kind_path(path), file);
    return model_kind_refuse(path,
                             is_saved_model
                                 ? saved_model
                                 : "it is a folder without a model; use an "
                                   "ONNX or Keras file",
                             err);
}

enum assay_status model_kind_check(const char *path, struct error *err)
{
    struct buffer *file;
    struct stat info;
    enum assay_status st;

    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    if (S_ISDIR(info.st_mode))
        return model_kind_refuse_folder(path, err);
    st = mapped_file_open(path, &file, err);
    if (st)
        return st;
    st = model_kind_check_bytes(path, file, err);
    buffer_release(file);
    return st;
}
