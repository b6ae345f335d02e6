/* predict/campaign_names.c - see campaign_names.h. */
#include "predict/campaign_names.h"

#include "models/models.h"
#include "predict/torch_runner.h"

#include <string.h>

/* A path without its folder; *n is its length without the ending. Of
 * "my_models.py:make_net" it is the name of the function. */
static const char *base_of(const char *path, size_t *n)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');

    if (torch_is_source(path)) {
        base = strrchr(path, ':') + 1;
        dot = NULL;
    }
    *n = dot ? (size_t)(dot - base) : strlen(base);
    return base;
}

enum assay_status network_file_name(const struct campaign_config *config,
                                    const char *network, int64_t level,
                                    int64_t repeat, struct str *path,
                                    struct error *err)
{
    size_t n;
    const char *base = base_of(network, &n);
    enum assay_status st;

    str_clear(path);
    st = str_printf(path, "%s/%.*s_%lld", config->create.model_path, (int)n,
                    base, (long long)level);
    if (!st && config->mode == PRUNE_RANDOM_WEIGHTED)
        st = str_printf(path, "_%lld", (long long)repeat);
    if (!st)
        st = str_append(path, ".net");
    return st ? error_nomem(err, 64, "a path") : ASSAY_OK;
}

bool name_take_number(const char *text, size_t *n, int64_t *number)
{
    size_t at = *n;

    while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at == *n || at < 2 || text[at - 1] != '_' || *n - at > 9)
        return false;
    *number = 0;
    for (size_t i = at; i < *n; i++)
        *number = *number * 10 + (text[i] - '0');
    *n = at - 1;
    return true;
}

static bool names_one(const struct config_texts *networks, const char *name)
{
    size_t n, n_name = strlen(name);

    for (size_t i = 0; i < networks->n; i++) {
        const char *base = base_of(networks->items[i], &n);

        if (n == n_name && memcmp(base, name, n) == 0)
            return true;
    }
    return false;
}

static bool is_network(const struct campaign_config *config, const char *name)
{
    return names_one(&config->create.networks, name) ||
           names_one(&config->profile.network, name) ||
           model_full_name(network_model(name));
}

bool network_file_split(const struct campaign_config *config, const char *path,
                        struct network_file *out)
{
    int64_t numbers[2] = {0, 0}; /* the last one first */
    size_t n, n_numbers = 0;
    const char *base = base_of(path, &n);

    *out = (struct network_file){0};
    if (n >= sizeof out->network)
        return false;
    memcpy(out->network, base, n);
    while (n_numbers < 2 && !is_network(config, out->network) &&
           name_take_number(out->network, &n, &numbers[n_numbers])) {
        out->network[n] = '\0';
        n_numbers++;
    }
    out->level = n_numbers == 2 ? numbers[1] : numbers[0];
    out->repeat = n_numbers == 2 ? numbers[0] : 0;
    return out->level <= PRUNE_MOST_PERCENT;
}
