/* cli/recipe_text.c - see recipe_text.h. */
#include "cli/recipe_text.h"

#include "base/scanner.h"
#include "cli/values.h"

#include <stdio.h>
#include <string.h>

enum { max_text = 256, max_side = 16384 };

/* ---- numbers ------------------------------------------------------------ */

/* A number, or one over another: "1/255". */
static enum assay_status recipe_read_ratio(char *text, double *value,
                                           struct error *err)
{
    char *slash = strchr(text, '/');
    double below = 1;
    enum assay_status st;

    if (slash)
        *slash = '\0';
    st = value_number(text, value, err);
    if (!st && slash)
        st = value_number(slash + 1, &below, err);
    if (!st && below == 0)
        st = error_set(err, ASSAY_BAD_USAGE, "cannot divide by 0");
    *value /= below;
    return st;
}

/* One for all channels, or three with colons between them. */
static enum assay_status recipe_read_channels(char *text, double values[3],
                                              struct error *err)
{
    char *rest = text, *part;
    enum assay_status st = ASSAY_OK;
    int n = 0;

    while (!st && (part = strsep(&rest, ":")) != NULL) {
        if (n == 3)
            return error_set(err, ASSAY_BAD_USAGE,
                             "more than three numbers; write "
                             "0.485:0.456:0.406");
        st = recipe_read_ratio(part, &values[n++], err);
    }
    if (!st && n == 1)
        values[1] = values[2] = values[0];
    else if (!st && n != 3)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "needs one number or three: 0.485:0.456:0.406");
    return st;
}

/* ---- the keys ------------------------------------------------------------ */

static enum assay_status recipe_text_read_word(const char *text,
                                               const char *const *words,
                                               int *index, struct error *err)
{
    char list[max_text] = "";
    size_t at = 0;

    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *index = i;
            return ASSAY_OK;
        }
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                               i ? ", " : "", words[i]);
    }
    return error_set(err, ASSAY_BAD_USAGE, "unknown value '%s'; use one of %s",
                     text, list);
}

/* One side for both, or width x height. */
static enum assay_status recipe_read_size(char *text, struct recipe *recipe,
                                          struct error *err)
{
    const char *at = text;
    uint64_t width = 0, height = 0;
    bool has_width = scan_number(&at, max_side, &width);

    if (!scan_word(&at, "x"))
        height = width;
    else if (!scan_number(&at, max_side, &height))
        has_width = false;
    if (!has_width || *at || width < 1 || height < 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "'%s' is not a size such as 640 or 640x480 (width x "
                         "height)",
                         text);
    recipe->width = (int)width;
    recipe->height = (int)height;
    if (recipe->fit == FIT_CROP)
        recipe->shorter = (int)(width < height ? width : height);
    return ASSAY_OK;
}

static enum assay_status recipe_read_fit(char *text, struct recipe *recipe,
                                         struct error *err)
{
    static const char *const words[] = {[FIT_STRETCH] = "stretch",
                                        [FIT_LETTERBOX] = "letterbox",
                                        [FIT_CORNER] = "corner",
                                        [FIT_CROP] = "crop",
                                        NULL};
    int fit = 0;
    enum assay_status st = recipe_text_read_word(text, words, &fit, err);

    recipe->fit = (enum recipe_fit)fit;
    return st;
}

static enum assay_status recipe_read_order(char *text, struct recipe *recipe,
                                           struct error *err)
{
    static const char *const words[] = {
        [ORDER_RGB] = "rgb", [ORDER_BGR] = "bgr", [ORDER_GREY] = "grey", NULL};
    int order = 0;
    enum assay_status st = recipe_text_read_word(text, words, &order, err);

    recipe->order = (enum recipe_order)order;
    return st;
}

static enum assay_status recipe_read_pixels(const char *text, int64_t most,
                                            int *value, struct error *err)
{
    int64_t read = 0;
    enum assay_status st = value_integer(text, &read, err);

    if (!st && (read < 0 || read > most))
        st = error_set(err, ASSAY_BAD_USAGE, "%s is not between 0 and %lld",
                       text, (long long)most);
    *value = (int)read;
    return st;
}

static enum assay_status recipe_read_pad(char *text, struct recipe *recipe,
                                         struct error *err)
{
    return recipe_read_pixels(text, 255, &recipe->pad, err);
}

static enum assay_status recipe_read_shorter(char *text, struct recipe *recipe,
                                             struct error *err)
{
    recipe->fit = FIT_CROP;
    return recipe_read_pixels(text, max_side, &recipe->shorter, err);
}

static enum assay_status recipe_read_scale(char *text, struct recipe *recipe,
                                           struct error *err)
{
    return recipe_read_ratio(text, &recipe->scale, err);
}

static enum assay_status recipe_read_mean(char *text, struct recipe *recipe,
                                          struct error *err)
{
    return recipe_read_channels(text, recipe->mean, err);
}

static enum assay_status recipe_read_std(char *text, struct recipe *recipe,
                                         struct error *err)
{
    enum assay_status st = recipe_read_channels(text, recipe->std, err);

    for (int i = 0; !st && i < 3; i++) {
        if (recipe->std[i] == 0)
            st = error_set(err, ASSAY_BAD_USAGE, "cannot divide by 0");
    }
    return st;
}

static const struct {
    const char *name;
    enum assay_status (*read)(char *text, struct recipe *recipe,
                              struct error *err);
} keys[] = {
    {"fit", recipe_read_fit},     {"size", recipe_read_size},
    {"pad", recipe_read_pad},     {"shorter", recipe_read_shorter},
    {"order", recipe_read_order}, {"scale", recipe_read_scale},
    {"mean", recipe_read_mean},   {"std", recipe_read_std},
};

static enum assay_status recipe_read_key(char *pair, struct recipe *recipe,
                                         struct error *err)
{
    char *value = strchr(pair, '=');

    if (value)
        *value++ = '\0';
    for (size_t i = 0; value && i < sizeof keys / sizeof *keys; i++) {
        enum assay_status st;

        if (strcmp(keys[i].name, pair) != 0)
            continue;
        st = keys[i].read(value, recipe, err);
        if (st)
            error_context(err, "--input %s", pair);
        return st;
    }
    return error_set(
        err, ASSAY_BAD_USAGE,
        "--input has no key '%s'; use size=, fit=, shorter=, "
        "pad=, order=, scale=, mean= and std=, with commas between",
        pair);
}

enum assay_status recipe_read(const char *text, struct recipe *recipe,
                              struct error *err)
{
    char copy[max_text];
    char *rest = copy, *pair;
    enum assay_status st = ASSAY_OK;

    if (strlen(text) >= sizeof copy)
        return error_set(err, ASSAY_BAD_USAGE, "--input is too long");
    snprintf(copy, sizeof copy, "%s", text);
    while (!st && (pair = strsep(&rest, ",")) != NULL)
        st = recipe_read_key(pair, recipe, err);
    return st;
}
