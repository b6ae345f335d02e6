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

/* The line of Python that makes an ONNX file, of whatever `model` is there. */
#define EXPORT_LINE(model)                                                     \
    "torch.onnx.export(" model ", torch.rand(1, 3, 224, 224), 'model.onnx')"

/* A file, and what is known of it. */
struct suspect {
    const char *path;
    struct buffer *file;
    const unsigned char *bytes;
    size_t n;
};

static bool has_at(const struct suspect *suspect, size_t at, const char *magic,
                   size_t n)
{
    return suspect->n >= at + n && memcmp(suspect->bytes + at, magic, n) == 0;
}

/* The path, or its end where the sentence would have no room behind it. */
static const char *shown_path(const char *path)
{
    enum { most = 64 };
    size_t n = strlen(path);
    const char *slash = strrchr(path, '/');

    if (n <= most)
        return path;
    return slash && strlen(slash + 1) <= most ? slash + 1 : path + n - most;
}

static enum assay_status model_kind_tell(const struct suspect *suspect,
                                         const char *what, struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT, "reading %s: %s",
                     shown_path(suspect->path), what);
}

/* ---- PyTorch ------------------------------------------------------------ */

static const char weights[] =
    "it holds weights and no model; name a built-in model and give it as "
    "--weights, or export the model as ONNX: " EXPORT_LINE("model");

/* What torch.save() wrote: weights, or a module with its classes, which only
 * the Python that knows them can make again. */
static enum assay_status tell_torch(const struct suspect *suspect,
                                    struct error *err)
{
    struct checkpoint *checkpoint;
    struct error why = {0};
    enum assay_status st = checkpoint_read(suspect->file, &checkpoint, &why);
    char name[44];

    checkpoint_free(checkpoint);
    if (!st)
        return model_kind_tell(
            suspect,
            "it holds weights and no model; name a built-in model and "
            "give it as --weights, or export the model as ONNX: " EXPORT_LINE(
                "model"),
            err);
    if (torch_refused_name(&why, name, sizeof name))
        return error_set(
            err, ASSAY_BAD_INPUT,
            "reading %s: it is a whole model, pickled by "
            "torch.save() (%s); export it where it was made: " EXPORT_LINE(
                "model"),
            shown_path(suspect->path), name);
    error_context(&why, "reading %s", suspect->path);
    return error_set(err, st, "%s", why.text);
}

static enum assay_status tell_script(const struct suspect *suspect,
                                     struct error *err)
{
    return model_kind_tell(
        suspect,
        "it is a TorchScript model, which PyTorch alone runs; export "
        "it as ONNX: " EXPORT_LINE("torch.jit.load('FILE')"),
        err);
}

/* ---- archives ----------------------------------------------------------- */

/* What the names of an archive's entries tell. */
struct contents {
    bool has_config, has_code, has_constants, has_pickle, has_saved_model;
    size_t n_arrays;
};

static void note_entry(struct contents *contents, const char *name, size_t n)
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

static enum assay_status check_contents(const struct suspect *suspect,
                                        const struct zip_index *index,
                                        struct error *err)
{
    struct contents contents = {0};

    for (size_t i = 0; i < index->n; i++)
        note_entry(&contents, index->entries[i].name,
                   index->entries[i].name_bytes);
    if (contents.has_config)
        return ASSAY_OK; /* of Keras */
    if (contents.has_code && contents.has_constants)
        return tell_script(suspect, err);
    if (contents.has_pickle)
        return tell_torch(suspect, err);
    if (contents.has_saved_model)
        return model_kind_tell(suspect, saved_model, err);
    if (contents.n_arrays && contents.n_arrays == index->n)
        return model_kind_tell(
            suspect,
            "it holds arrays of NumPy and no model; ONNX and Keras "
            "files are read",
            err);
    return model_kind_tell(
        suspect,
        "it is a zip archive that neither Keras nor PyTorch wrote; "
        "unpack it where the model lies inside",
        err);
}

static enum assay_status check_zip(const struct suspect *suspect,
                                   struct error *err)
{
    struct zip_index index = {0};
    enum assay_status st =
        zip_index_read(&index, suspect->bytes, suspect->n, err);

    if (st)
        error_context(err, "reading %s", suspect->path);
    else
        st = check_contents(suspect, &index, err);
    zip_index_release(&index);
    return st;
}

/* ---- by the first bytes ------------------------------------------------- */

static const char compressed[] =
    "it is compressed; unpack it first (a trace is read as it is by assay "
    "import)";
static const char picture[] =
    "it is a picture; the model comes before it: assay run MODEL PHOTOGRAPH";
static const char pickled[] = "it is a pickle of Python, which is not read; "
                              "export the model as ONNX: " EXPORT_LINE("model");

#define MAGIC(at, text) at, sizeof(text) - 1, text

static const struct {
    size_t at, n;
    const char *magic, *what;
} others[] = {
    {MAGIC(4, "TFL3"),
     "it is a TensorFlow Lite model, which is not read; convert it: python3 -m "
     "tf2onnx.convert --tflite FILE --output model.onnx"},
    {MAGIC(4, "ORTM"),
     "it is a model in ONNX Runtime's own format, which is not read; the .onnx "
     "file that it was made of is"},
    {MAGIC(0, "GGUF"),
     "it is a GGUF file of a language model; vision models are read, as ONNX "
     "and Keras files"},
    {MAGIC(0, "\x93NUMPY"),
     "it is an array of NumPy and no model; ONNX and Keras files are read"},
    {MAGIC(0, "\xff\xd8\xff"), picture},
    {MAGIC(0, "\x89PNG"), picture},
    {MAGIC(0, "GIF8"), picture},
    {MAGIC(8, "WEBP"), picture},
    {MAGIC(68, "ASAY"), "it is a run; assay show RUN looks at it"},
    {MAGIC(68, "Ascy"),
     "it is the log of a campaign; assay fingerprint fit --data reads its "
     "folder"},
    {MAGIC(0, "SQLite format 3"), "it is a database and no model"},
    {MAGIC(0, "assay fingerprint"),
     "it is the fingerprint of a device; assay predict MODEL --on FILE uses "
     "it"},
    {MAGIC(0, "version https://git-lfs"),
     "it is what Git LFS keeps in the place of a file; git lfs pull fetches "
     "the file itself"},
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
     "it is a program or a library and no model"},
    {MAGIC(0, "%PDF"), "it is a PDF document and no model"},
};

/* Eight bytes of a length, and JSON. */
static bool is_safetensors(const struct suspect *suspect)
{
    return suspect->n > 8 && !suspect->bytes[7] && suspect->bytes[8] == '{';
}

/* ---- texts -------------------------------------------------------------- */

/* Whether it begins with nothing but text: no format that is read does. */
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

static enum assay_status tell_text(const struct suspect *suspect,
                                   struct error *err)
{
    size_t i = 0;

    while (i + 1 < suspect->n && strchr(" \t\n\r\f", suspect->bytes[i]))
        i++;
    if (str_ends_with(suspect->path, ".py"))
        return model_kind_tell(
            suspect,
            "it is Python, which is not run; export the model as "
            "ONNX: " EXPORT_LINE("model"),
            err);
    if (suspect->bytes[i] == '<')
        return model_kind_tell(
            suspect,
            "it is a web page or XML and no model; if it was "
            "downloaded, fetch the file itself",
            err);
    if (suspect->bytes[i] == '{')
        return model_kind_tell(
            suspect,
            "it is JSON and no model; assay import reads traces, and a "
            "Keras model is read as model.save('model.keras') writes "
            "it",
            err);
    return model_kind_tell(
        suspect,
        "it is a text and no model; ONNX and Keras files and .net "
        "descriptions are read",
        err);
}

/* ---- all of them -------------------------------------------------------- */

enum assay_status model_kind_check_bytes(const char *path, struct buffer *file,
                                         struct error *err)
{
    /* A pickle of protocol 2 of PyTorch's magic number. */
    static const char legacy[] = "\x80\2\x8a\n\x6c\xfc\x9c\x46";
    struct suspect suspect = {path, file, buffer_data(file),
                              buffer_bytes(file)};

    if (net_is(suspect.bytes, suspect.n))
        return ASSAY_OK;
    if (str_ends_with(path, "saved_model.pb"))
        return model_kind_tell(&suspect, saved_model, err);
    if (has_at(&suspect, 0, "PK\3\4", 4))
        return check_zip(&suspect, err);
    if (has_at(&suspect, 0, legacy, sizeof legacy - 1))
        return tell_torch(&suspect, err);
    if (is_safetensors(&suspect))
        return model_kind_tell(&suspect, weights, err);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (has_at(&suspect, others[i].at, others[i].magic, others[i].n))
            return model_kind_tell(&suspect, others[i].what, err);
    }
    return model_kind_is_text(&suspect) ? tell_text(&suspect, err) : ASSAY_OK;
}

/* Says what is in a folder, where that helps. */
static enum assay_status tell_folder(const char *path, struct error *err)
{
    static const char *const models[] = {".onnx", ".keras", ".h5", ".hdf5",
                                         ".net"};
    struct suspect suspect = {.path = path};
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
    if (is_saved_model)
        return model_kind_tell(&suspect, saved_model, err);
    if (file[0])
        return error_set(err, ASSAY_BAD_INPUT,
                         "reading %s: it is a folder; name the model in it, "
                         "%s/%s",
                         shown_path(path), shown_path(path), file);
    return model_kind_tell(
        &suspect,
        "it is a folder without a model; ONNX and Keras files are read", err);
}

enum assay_status model_kind_check(const char *path, struct error *err)
{
    struct buffer *file;
    struct stat info;
    enum assay_status st;

    if (stat(path, &info))
        return error_errno(err, errno, "cannot read %s", path);
    if (S_ISDIR(info.st_mode))
        return tell_folder(path, err);
    st = mapped_file_open(path, &file, err);
    if (st)
        return st;
    st = model_kind_check_bytes(path, file, err);
    buffer_release(file);
    return st;
}
