/* predict/network_folder.c - see network_folder.h. */
#include "predict/network_folder.h"

#include "base/str.h"
#include "models/model_open.h"
#include "predict/campaign_names.h"
#include "predict/describe_graph.h"
#include "predict/perf4sight.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

void network_close(struct opened_network *network)
{
    description_release(&network->description);
    graph_free(network->graph);
    pool_free(network->pool);
    *network = (struct opened_network){0};
}

enum assay_status network_open(struct opened_network *network, const char *path,
                               struct error *err)
{
    const struct model_source source = {.name = path, .is_file = true};
    struct survey survey = {0};
    struct shape shape;
    enum assay_status st = pool_new(&network->pool, err);

    if (!st)
        st = model_open(&source, network->pool, &network->graph, err);
    if (!st) {
        shape = describe_image(network->graph);
        st = survey_graph(&survey, network->graph, &shape, err);
    }
    if (!st)
        st = describe_graph(network->graph, &survey, shape.dims[0],
                            &network->description, err);
    survey_release(&survey);
    return st;
}

/* Those of earlier versions lack what PyTorch and this program would take. */
static bool is_described_whole(const struct description *own)
{
    return (own->n_convs || own->n_denses) &&
           own->counts.torch_training[0] > 0 &&
           own->counts.own_inference[0] > 0;
}

/* The description moves into the set. */
static enum assay_status describe_file(struct data_set *set, const char *path,
                                       const struct network_file *name,
                                       struct error *err)
{
    struct opened_network network = {0};
    size_t index = data_set_find(set, name->network, name->level);
    enum assay_status st = ASSAY_OK;

    if (index != SIZE_MAX && is_described_whole(&set->descriptions[index]))
        return ASSAY_OK;
    st = network_open(&network, path, err);
    if (!st)
        st = description_set_name(&network.description,
                                  network_canonical(name->network), name->level,
                                  err);
    if (!st)
        st = data_set_describe(set, name->network, name->level, &index, err);
    if (!st) {
        struct description empty = set->descriptions[index];

        set->descriptions[index] = network.description;
        network.description = empty;
    }
    network_close(&network);
    return st;
}

enum assay_status data_set_describe_folder(struct data_set *set,
                                           const char *folder,
                                           struct error *err)
{
    static const struct campaign_config any;
    DIR *open = opendir(folder);
    enum assay_status st = ASSAY_OK;
    struct dirent *entry;

    data_set_begin(set);
    if (!open)
        return error_errno(err, errno, "opening the folder of networks %s",
                           folder);
    while (!st && (entry = readdir(open))) {
        struct network_file name;
        struct str path = {0};

        if ((!str_ends_with(entry->d_name, ".net") &&
             !str_ends_with(entry->d_name, ".onnx")) ||
            !network_file_split(&any, entry->d_name, &name))
            continue;
        st = str_printf(&path, "%s/%s", folder, entry->d_name)
                 ? error_nomem(err, strlen(folder), "a path")
                 : describe_file(set, path.text, &name, err);
        str_release(&path);
    }
    closedir(open);
    return st;
}

enum assay_status data_set_read_all(struct data_set *set,
                                    const char *const *folders, size_t n,
                                    const char *networks, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        if (!perf4sight_is_folder(folders[i]))
            st = data_set_read(set, folders[i], err);
    }
    if (!st && networks)
        st = data_set_describe_folder(set, networks, err);
    for (size_t i = 0; !st && i < n; i++) {
        if (perf4sight_is_folder(folders[i]))
            st = data_set_read(set, folders[i], err);
    }
    return st;
}
