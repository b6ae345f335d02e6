/* predict/selection.c - see selection.h. */
#include "predict/selection.h"

#include "base/mem.h"
#include "base/scanner.h"
#include "base/vec.h"

#include <stdio.h>
#include <string.h>

enum { max_level = 95 };

void selection_release(struct selection *selection)
{
    for (size_t i = 0; i < selection->n; i++)
        mem_free(selection->items[i].network);
    mem_free(selection->items);
    *selection = (struct selection){0};
}

static enum assay_status selection_add(struct selection *selection,
                                       const char *name, size_t n,
                                       int64_t first, int64_t last,
                                       struct error *err)
{
    struct selected_levels *moved =
        vec_reserve(selection->items, &selection->capacity, selection->n + 1,
                    sizeof *moved);
    char *copy = mem_strndup(name, n);
    char *canonical = copy ? mem_strdup(network_canonical(copy)) : NULL;

    mem_free(copy);
    if (moved)
        selection->items = moved;
    if (!moved || !canonical) {
        mem_free(canonical);
        return error_nomem(err, n, "a network");
    }
    moved[selection->n++] = (struct selected_levels){canonical, first, last};
    return ASSAY_OK;
}

static enum assay_status selection_refuse(const char *text, const char *at,
                                          const char *wanted, struct error *err)
{
    return error_set(err, ASSAY_BAD_USAGE,
                     "'%s': %s at '%.24s'; networks and levels are written as "
                     "resnet18,resnet50:0,30,50..70",
                     text, wanted, at);
}

/* "30", "5..85", "50..", "..50" */
static enum assay_status read_levels(const char *text, const char *at, size_t n,
                                     int64_t *first, int64_t *last,
                                     struct error *err)
{
    enum { most = 999999999 };
    char word[24];
    const char *end = word;
    uint64_t low = 0, high = max_level;
    bool is_range, has_any;

    if (n >= sizeof word)
        return selection_refuse(text, at, "expected a level", err);
    memcpy(word, at, n);
    word[n] = '\0';
    has_any = scan_number(&end, most, &low);
    is_range = scan_word(&end, "..");
    if (is_range)
        has_any |= scan_number(&end, most, &high);
    else
        high = low;
    if (!has_any || *end)
        return selection_refuse(text, at, "expected a level", err);
    if (high > max_level || low > high)
        return selection_refuse(text, at, "levels must be from 0 to 95", err);
    *first = (int64_t)low;
    *last = (int64_t)high;
    return ASSAY_OK;
}

enum assay_status selection_parse(struct selection *selection, const char *text,
                                  struct error *err)
{
    const char *name = NULL, *at = text, *blank = strpbrk(text, " \t");
    size_t n_name = 0;
    enum assay_status st = ASSAY_OK;

    if (blank)
        return selection_refuse(text, blank,
                                "expected a comma instead of the blank", err);
    while (!st) {
        size_t n = strcspn(at, ",");
        int64_t first = 0, last = max_level;

        if (name && *at && strchr("0123456789.", *at)) {
            st = read_levels(text, at, n, &first, &last, err);
        } else {
            const char *colon = memchr(at, ':', n);

            name = at;
            n_name = colon ? (size_t)(colon - at) : n;
            if (!n_name)
                return selection_refuse(text, at, "expected a network", err);
            if (colon)
                st = read_levels(text, colon + 1, n - n_name - 1, &first, &last,
                                 err);
            else
                last = 100;
        }
        if (!st)
            st = selection_add(selection, name, n_name, first, last, err);
        if (!at[n])
            break;
        at += n + 1;
    }
    return st;
}

bool selection_has(const struct selection *selection,
                   const struct description *description)
{
    for (size_t i = 0; i < selection->n; i++) {
        const struct selected_levels *item = &selection->items[i];

        if (strcmp(item->network, description->network) == 0 &&
            description->level >= item->first &&
            description->level <= item->last)
            return true;
    }
    return selection->n == 0;
}

/* Lists the networks that have rows, each once. */
static void list_networks(const struct data_set *set, struct str *names)
{
    const char *before = "";

    for (size_t i = 0; i < set->n_rows; i++) {
        const char *name = set->descriptions[set->rows[i].description].network;

        /* If memory runs out, the message is shorter. */
        if (strcmp(name, before) != 0 && !strstr(str_text(names), name))
            (void)str_printf(names, "%s%s", names->n ? ", " : "", name);
        before = name;
    }
}

/* Lists the levels at which a network has rows, each once. */
static void list_levels(const struct data_set *set, const char *network,
                        struct str *levels)
{
    int64_t before = -1;

    for (size_t i = 0; i < set->n_rows; i++) {
        const struct description *of =
            &set->descriptions[set->rows[i].description];

        if (strcmp(of->network, network) != 0 || of->level == before)
            continue;
        before = of->level;
        (void)str_printf(levels, " %lld", (long long)before);
    }
}

/* Whether a network has rows, optionally only at selected levels. */
static bool has_rows(const struct data_set *set, const char *network,
                     const struct selection *selection)
{
    for (size_t i = 0; i < set->n_rows; i++) {
        const struct description *of =
            &set->descriptions[set->rows[i].description];

        if (strcmp(of->network, network) == 0 &&
            (!selection || selection_has(selection, of)))
            return true;
    }
    return false;
}

enum assay_status selection_check(const struct selection *selection,
                                  const struct data_set *set, struct error *err)
{
    for (size_t i = 0; i < selection->n; i++) {
        const char *network = selection->items[i].network;
        struct str there = {0};
        enum assay_status st;

        if (has_rows(set, network, selection))
            continue;
        if (has_rows(set, network, NULL)) {
            list_levels(set, network, &there);
            st = error_set(
                err, ASSAY_BAD_USAGE,
                "no usable rows of '%s' at these levels; it has levels%s",
                network, str_text(&there));
        } else {
            list_networks(set, &there);
            st = error_set(err, ASSAY_BAD_USAGE,
                           "no usable rows of '%s'; there are rows of %s",
                           network, str_text(&there));
        }
        str_release(&there);
        return st;
    }
    return ASSAY_OK;
}
