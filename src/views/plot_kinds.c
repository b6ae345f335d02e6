/* views/plot_kinds.c - the colour of a module by what it does, and the legend.
 *
 * Kinds, colours and words are those of the report's page: src/views/html/
 * palette.js and colours.css; tests/views/plot_kinds_test.py compares them. */
#include "views/plot_internal.h"

#include <ctype.h>
#include <string.h>

#define INK(hex)                                                               \
    {                                                                          \
        ((hex) >> 16 & 255) / 255.0, ((hex) >> 8 & 255) / 255.0,               \
            ((hex)&255) / 255.0, 1                                             \
    }

/* A part of a name, in small letters: ^ is its start, $ its end, # any digits
 * and its end. */
static const struct {
    const char *label;
    struct ink ink;
    const char *const *parts; /* NULL: what fits no other */
} plot_kinds[N_PLOT_KINDS] = {
    {"pictures in and out", INK(0xa5def7),
     (const char *const[]){"decode", "encode", "jpeg", "preprocess",
                           "postprocess", "transform", "to_tensor", "paste",
                           "draw", NULL}},
    {"boxes and masks", INK(0xf4a6b4),
     (const char *const[]){"roi", "nms", "anchor", "proposal", "detect",
                           "rpn_decode", "rpndecode", "rpn_top", "rpntop",
                           "topk", "top_k", "box", "mask", "filter", NULL}},
    {"convolution", INK(0x86b6e3),
     (const char *const[]){"conv", "winograd", NULL}},
    {"attention", INK(0xc3d154),
     (const char *const[]){"attention", "softmax", "bmm", NULL}},
    {"matrix product", INK(0xee9a78),
     (const char *const[]){"linear", "gemm", "matmul", "::mm$", "::addmm$",
                           "dense", "^fc#", NULL}},
    {"normalisation", INK(0x62c2a4),
     (const char *const[]){"norm", "^bn#", "^bn_", "_bn_", ":bn_", ".bn_",
                           NULL}},
    {"activation and addition", INK(0xecdb84),
     (const char *const[]){"relu", "gelu", "silu", "swish", "sigmoid", "tanh",
                           "activation", "elementwise", "^add$", "^mul$",
                           "^add_$", "^mul_$", "::add$", "::mul$", "::add_$",
                           "::mul_$", NULL}},
    {"pooling and resampling", INK(0xc9b3e6),
     (const char *const[]){"pool", "upsample", "interpolate", "resize$",
                           "resize_bo", "resizeb", NULL}},
    {"copying", INK(0xbcb86a),
     (const char *const[]){"copy", "memcpy", "memset", "concat", "^cat$",
                           "flatten", "reshape", "permute", "contiguous",
                           NULL}},
    {"other", INK(0xd2d6db), NULL},
    {"modules around others", INK(0xe8eaed), NULL},
};

enum { KIND_OTHER = N_PLOT_KINDS - 2, KIND_GROUP = N_PLOT_KINDS - 1 };

/* Whether the text goes on with the part, up to its end if the part says so. */
static bool kind_fits_here(const char *text, const char *part)
{
    for (; *part; part++, text++) {
        if (*part == '#')
            return text[strspn(text, "0123456789")] == '\0';
        if (*part == '$')
            return *text == '\0';
        if (tolower((unsigned char)*text) != *part)
            return false;
    }
    return true;
}

static bool kind_fits(const char *text, const char *part)
{
    if (*part == '^')
        return kind_fits_here(text, part + 1);
    for (; *text; text++) {
        if (kind_fits_here(text, part))
            return true;
    }
    return false;
}

/* The first that fits; KIND_OTHER if none does. */
static size_t kind_of_text(const char *text)
{
    for (size_t kind = 0; plot_kinds[kind].parts; kind++) {
        for (const char *const *part = plot_kinds[kind].parts; *part; part++) {
            if (kind_fits(text, *part))
                return kind;
        }
    }
    return KIND_OTHER;
}

static size_t kind_of_scope(const struct run *run, uint32_t id)
{
    const struct scope *scope = run_scope(run, id);
    size_t kind = kind_of_text(scope->class_name);

    if (scope->first_child != RUN_NONE)
        return KIND_GROUP;
    return kind == KIND_OTHER ? kind_of_text(scope->name) : kind;
}

struct ink plot_scope_ink(struct plot *plot, uint32_t scope)
{
    size_t kind = kind_of_scope(plot->run, scope);

    plot->is_drawn[kind] = true;
    return plot_kinds[kind].ink;
}

/* ---- the legend ---------------------------------------------------------- */

enum { legend_line = 15, legend_swatch = 8, legend_gap = 14 };

/* Puts the kinds of a set beside each other, from a line on; draws them if it
 * is told to. Returns how many lines they take. */
static int legend_place(struct plot *plot, const bool *is_there, bool draws)
{
    double x = plot->area.x, right = x + plot->area.width;
    int line = 0;

    for (size_t i = 0; i < N_PLOT_KINDS; i++) {
        double width =
            legend_swatch + 4 +
            sheet_text_width(plot->sheet, PLOT_TEXT, plot_kinds[i].label);
        double y;

        if (!is_there[i])
            continue;
        if (x > plot->area.x && x + width > right) {
            x = plot->area.x;
            line++;
        }
        y = plot->legend_y + line * legend_line;
        if (draws) {
            sheet_rectangle(plot->sheet,
                            (struct area){x, y, legend_swatch, legend_swatch},
                            plot_kinds[i].ink);
            sheet_text(plot->sheet,
                       (struct spot){x + legend_swatch + 4, y + legend_swatch},
                       SHEET_LEFT, PLOT_TEXT, plot_faint_ink,
                       plot_kinds[i].label);
        }
        x += width + legend_gap;
    }
    return line + 1;
}

void plot_legend_begin(struct plot *plot)
{
    bool is_there[N_PLOT_KINDS] = {false};
    int lines;

    for (uint32_t i = 0; i < run_scope_count(plot->run); i++)
        is_there[kind_of_scope(plot->run, i)] = true;
    lines = legend_place(plot, is_there, false);
    plot->legend_y = plot->area.y + plot->area.height - legend_swatch -
                     (lines - 1) * legend_line;
    plot->area.height -= 3 + lines * legend_line;
}

void plot_legend_end(struct plot *plot)
{
    legend_place(plot, plot->is_drawn, true);
}
