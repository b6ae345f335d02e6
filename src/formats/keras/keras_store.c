/* formats/keras/keras_store.c - see keras_store_internal.h.
 *
 * Datasets are listed when a file is opened, and only those are read, so links
 * out of the file are never followed. */
#include "formats/keras/keras_store_internal.h"

#include "base/mem.h"
#include "base/str.h"
#include "formats/keras/hdf5_reader_internal.h"
#include "formats/keras/json_tree_internal.h"
#include "formats/mapped_file_internal.h"
#include "formats/zip_index_internal.h"

#include <stdlib.h>
#include <string.h>

struct keras_store {
    struct hdf5_reader *weights;
    struct str config;
    int version;
    bool is_archive; /* .keras */
};

/* ---- opening ------------------------------------------------------------ */

/* The bytes of an entry: in the archive, or unpacked. Start from {0}. */
struct entry_bytes {
    const unsigned char *data;
    size_t n;
    struct str unpacked;
};

static enum assay_status keras_store_find_entry(const struct zip_index *index,
                                                const char *name,
                                                struct entry_bytes *out,
                                                struct error *err)
{
    const struct zip_entry *entry = zip_index_find(index, name);
    enum assay_status st;

    if (!entry)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the archive has no %s, so Keras did not save it",
                         name);
    if (entry->is_deflated) {
        st = zip_entry_unpack(entry, &out->unpacked, err);
        out->data = (const unsigned char *)str_text(&out->unpacked);
        out->n = out->unpacked.n;
        return st;
    }
    if (!entry->is_stored)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s is encrypted, or compressed in a way that is not "
                         "supported; save the model with Keras again",
                         name);
    out->data = entry->data;
    out->n = entry->bytes;
    return zip_entry_check(entry, err);
}

static enum assay_status keras_store_keep_config(struct keras_store *store,
                                                 const char *text, size_t n,
                                                 struct error *err)
{
    return str_append_n(&store->config, text, n)
               ? error_nomem(err, n, "a model's configuration")
               : ASSAY_OK;
}

/* "3.15.1" in {"keras_version": ...}. */
static enum assay_status
keras_store_read_metadata(struct keras_store *store,
                          const struct entry_bytes *entry, struct error *err)
{
    struct arena arena = {0};
    const struct json_value *tree;
    enum assay_status st =
        json_tree_read((const char *)entry->data, entry->n, &arena, &tree, err);

    if (!st)
        store->version = (int)strtol(
            json_tree_text(json_tree_get(tree, "keras_version"), "3"), NULL,
            10);
    else
        error_context(err, "metadata.json");
    arena_release(&arena);
    return st;
}

static enum assay_status keras_store_open_entries(struct keras_store *store,
                                                  const struct zip_index *index,
                                                  struct error *err)
{
    struct entry_bytes config = {0}, metadata = {0}, weights = {0};
    enum assay_status st =
        keras_store_find_entry(index, "config.json", &config, err);

    if (!st)
        st = keras_store_find_entry(index, "metadata.json", &metadata, err);
    if (!st)
        st = keras_store_find_entry(index, "model.weights.h5", &weights, err);
    if (!st)
        st = keras_store_keep_config(store, (const char *)config.data, config.n,
                                     err);
    if (!st)
        st = keras_store_read_metadata(store, &metadata, err);
    if (!st)
        st = hdf5_reader_open_image(weights.data, weights.n, &store->weights,
                                    err);
    str_release(&config.unpacked);
    str_release(&metadata.unpacked);
    str_release(&weights.unpacked);
    return st;
}

static enum assay_status keras_store_open_archive(struct keras_store *store,
                                                  const struct buffer *file,
                                                  struct error *err)
{
    struct zip_index index = {0};
    enum assay_status st =
        zip_index_read(&index, buffer_data(file), buffer_bytes(file), err);

    store->is_archive = true;
    if (!st)
        st = keras_store_open_entries(store, &index, err);
    zip_index_release(&index);
    return st;
}

static enum assay_status keras_store_open_hdf5(struct keras_store *store,
                                               const char *path,
                                               struct error *err)
{
    struct str version = {0};
    bool is_there;
    enum assay_status st = hdf5_reader_open(path, &store->weights, err);

    if (!st)
        st = hdf5_reader_attribute(store->weights, "model_config",
                                   &store->config, &is_there, err);
    if (!st && !is_there)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "it has no model_config, only weights, which do not "
                       "say how the model is built; save it with "
                       "model.save()");
    if (!st)
        st = hdf5_reader_attribute(store->weights, "keras_version", &version,
                                   &is_there, err);
    if (!st && is_there)
        store->version = (int)strtol(str_text(&version), NULL, 10);
    str_release(&version);
    return st;
}

enum assay_status keras_store_open(const char *path, struct keras_store **out,
                                   struct error *err)
{
    struct keras_store *store = mem_zalloc(sizeof *store);
    struct buffer *file = NULL;
    enum assay_status st;

    *out = NULL;
    if (!store)
        return error_nomem(err, sizeof *store, "a Keras file");
    store->version = 2;
    st = mapped_file_open(path, &file, err);
    if (!st && buffer_bytes(file) > 2 &&
        memcmp(buffer_data(file), "PK", 2) == 0)
        st = keras_store_open_archive(store, file, err);
    else if (!st)
        st = keras_store_open_hdf5(store, path, err);
    buffer_release(file);
    if (st)
        keras_store_close(store);
    else
        *out = store;
    return st;
}

void keras_store_close(struct keras_store *store)
{
    if (!store)
        return;
    hdf5_reader_close(store->weights);
    str_release(&store->config);
    mem_free(store);
}

const char *keras_store_config(const struct keras_store *store, size_t *n)
{
    *n = store->config.n;
    return str_text(&store->config);
}

int keras_store_version(const struct keras_store *store)
{
    return store->version;
}

/* ---- weights ------------------------------------------------------------ */

/* Where the last part of a path that ends at `end` begins. */
static const char *last_part(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

static bool is_part(const char *part, const char *end, const char *name)
{
    size_t n = strlen(name);

    return (size_t)(end - part) == n && memcmp(part, name, n) == 0;
}

/* Whether one of the parts before `end` is the name. */
static bool has_part(const char *path, const char *end, const char *name)
{
    while (end > path) {
        const char *part = last_part(path, end);

        if (is_part(part, end, name))
            return true;
        end = part > path ? part - 1 : path;
    }
    return false;
}

/* How well the dataset "conv/kernel:0" in the group of the top layer matches;
 * 0: not at all. A top-level layer has a group of its own, so the parts in
 * between do not matter. */
static int keras_store_fit(const struct keras_place *place, const char *path,
                           const char *name)
{
    const char *end = path + strlen(path);
    const char *part = last_part(path, end);
    const char *before = part > path ? part - 1 : path;

    if (end - part > 2 && end[-2] == ':')
        end -= 2;
    if (!is_part(part, end, name))
        return 0;
    if (!place->parent)
        return 1;
    if (!is_part(last_part(path, before), before, place->layer))
        return 0;
    return has_part(path, before, place->parent) ? 2 : 1;
}

static enum assay_status keras_store_find_named(const struct keras_store *store,
                                                const struct keras_place *place,
                                                const char *name, size_t *found,
                                                bool *is_found,
                                                struct error *err)
{
    struct str prefix = {0};
    const char *path;
    int best = 0;
    bool is_unique = true;

    *is_found = false;
    if (str_printf(&prefix, "model_weights/%s/", place->top))
        return error_nomem(err, strlen(place->top), "a dataset's name");
    for (size_t i = 0; (path = hdf5_reader_dataset(store->weights, i)); i++) {
        int now = strncmp(path, prefix.text, prefix.n) == 0
                      ? keras_store_fit(place, path + prefix.n, name)
                      : 0;

        if (now > best) {
            *found = i;
            *is_found = true;
            best = now;
            is_unique = true;
        } else if (now && now == best) {
            is_unique = false;
        }
    }
    str_release(&prefix);
    if (best && !is_unique)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "several datasets could be its %s; save the model as "
                         "a .keras file",
                         name);
    return ASSAY_OK;
}

enum assay_status keras_store_weight(const struct keras_store *store,
                                     const struct keras_place *place,
                                     const char *name, size_t number,
                                     struct pool *pool, struct tensor *out,
                                     struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;
    bool is_found;
    size_t found = 0;

    *out = (struct tensor){0};
    if (store->is_archive) {
        if (str_printf(&path, "%s/vars/%zu", place->folder, number))
            return error_nomem(err, strlen(place->folder), "a dataset's name");
        is_found = hdf5_reader_find(store->weights, path.text, &found);
    } else {
        st = keras_store_find_named(store, place, name, &found, &is_found, err);
    }
    if (!st && !is_found)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "its %s is not in the file%s%s; save the model again",
                       name, path.n ? ": there is no " : "", str_text(&path));
    if (!st)
        st = hdf5_reader_read(store->weights, found, pool, out, err);
    str_release(&path);
    return st;
}
