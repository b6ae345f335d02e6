/* formats/weights/load_names.c - see load_weights.h: names that changed in
 * torchvision, as in the _load_from_state_dict of its modules. */
#include "formats/weights/load_weights.h"

#include <string.h>

struct part {
    const char *text;
    size_t n;
};

/* Cuts the last component off; false if there is only one. */
static bool cut_last(struct part *name, struct part *last)
{
    const char *dot = memrchr(name->text, '.', name->n);

    if (!dot)
        return false;
    last->text = dot + 1;
    last->n = name->n - (size_t)(last->text - name->text);
    name->n = (size_t)(dot - name->text);
    return true;
}

static bool part_is(const struct part *part, const char *text)
{
    return part->n == strlen(text) && memcmp(part->text, text, part->n) == 0;
}

static bool load_names_is_number(const struct part *part)
{
    for (size_t i = 0; i < part->n; i++) {
        if (part->text[i] < '0' || part->text[i] > '9')
            return false;
    }
    return part->n > 0;
}

/* 0 for "mask_fcn1", the first of the mask head's convolutions. */
static bool mask_index(const struct part *part, int *index)
{
    static const char prefix[] = "mask_fcn";
    size_t n = sizeof prefix - 1;

    if (part->n != n + 1 || memcmp(part->text, prefix, n) != 0 ||
        part->text[n] < '1' || part->text[n] > '9')
        return false;
    *index = part->text[n] - '1';
    return true;
}

enum assay_status weights_new_name(const char *name, struct str *out)
{
    struct part rest = {name, strlen(name)}, leaf, last, before;
    struct part module;
    int index;

    if (!cut_last(&rest, &leaf) ||
        (!part_is(&leaf, "weight") && !part_is(&leaf, "bias")))
        return ASSAY_OK;
    module = rest;
    if (!cut_last(&rest, &last))
        return ASSAY_OK;
    if (mask_index(&last, &index))
        return str_printf(out, "%.*s.%d.0.%s", (int)rest.n, rest.text, index,
                          leaf.text);
    if (!cut_last(&rest, &before))
        return ASSAY_OK;
    if (load_names_is_number(&last) &&
        (part_is(&before, "inner_blocks") || part_is(&before, "layer_blocks")))
        return str_printf(out, "%.*s.0.%s", (int)module.n, name, leaf.text);
    if (part_is(&last, "conv") && part_is(&before, "head"))
        return str_printf(out, "%.*s.0.0.%s", (int)module.n, name, leaf.text);
    return ASSAY_OK;
}
