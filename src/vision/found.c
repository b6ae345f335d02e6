/* vision/found.c - see found.h. */
#include "vision/found.h"

#include "base/mem.h"
#include "base/vec.h"
#include "vision/decoder.h"

#include <stdio.h>
#include <string.h>

void found_release(struct found *found)
{
    mem_free(found->items);
    *found = (struct found){0};
}

enum assay_status found_reserve(struct found *found, size_t n,
                                struct error *err)
{
    struct found_item *moved = vec_reserve(found->items, &found->capacity,
                                           found->n + n, sizeof *found->items);

    if (!moved)
        return error_nomem(err, n * sizeof *found->items, "the detections");
    found->items = moved;
    return ASSAY_OK;
}

/* "1x3549x85, 1x4" */
static const char *found_shapes(const struct found_source *source, char *text,
                                size_t size)
{
    char shape[64];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < source->n_outputs && n < size; i++)
        n += (size_t)snprintf(
            text + n, size - n, "%s%s", i ? ", " : "",
            shape_text(&source->outputs[i].shape, shape, sizeof shape));
    return text;
}

static enum assay_status found_refuse(const struct found_source *source,
                                      const struct decoder *decoder,
                                      struct error *err)
{
    const struct decoder *other = decoder_of(decoder_propose(source));
    char text[72];

    return error_set(
        err, ASSAY_BAD_USAGE, "--decode %s needs %s; the outputs are %s%s%s",
        decoder->name, decoder->needs, found_shapes(source, text, sizeof text),
        other ? ", which fits --decode " : "", other ? other->name : "");
}

enum assay_status found_decode(const struct found_source *source,
                               struct found *found, struct error *err)
{
    const struct decoder *decoder = decoder_of(source->options->decode);

    if (!decoder)
        return ASSAY_OK;
    found->has_boxes = decoder->has_boxes;
    if (decoder->fits && !decoder->fits(source))
        return found_refuse(source, decoder, err);
    return decoder->run(source, found, err);
}

/* The n-th of COCO's 80 used classes: those of the 91 that have a name. */
static const char *found_coco_80(int64_t number)
{
    for (int64_t label = 1; label <= 90; label++) {
        const char *name = model_coco_class(label);

        if (strcmp(name, "N/A") != 0 && number-- == 0)
            return name;
    }
    return NULL;
}

static bool is_coco_80(const struct found_source *source,
                       const struct decoder *decoder)
{
    return decoder->classes && source->n_outputs > 0 && decoder->fits(source) &&
           decoder->classes(source) == 80;
}

const char *found_name(const struct found_source *source, int64_t label,
                       char *buffer, size_t size)
{
    const struct vision_options *options = source->options;
    const struct decoder *decoder = decoder_of(options->decode);
    const char *name = NULL;

    if (options->labels)
        return label >= 0 && (size_t)label < options->n_labels
                   ? options->labels[label]
                   : "?";
    if (decoder && decoder->knows_torchvision)
        return model_coco_class(label);
    if (decoder && is_coco_80(source, decoder))
        name = found_coco_80(label);
    if (name)
        return name;
    snprintf(buffer, size, "%lld", (long long)label);
    return buffer;
}

enum { max_name = 32 }; /* of a class that is a number */

/* Lists the items with a sufficient score. */
static size_t found_list_objects(const struct found *found,
                                 const struct found_source *source,
                                 struct found_object *objects,
                                 char (*names)[max_name])
{
    size_t n = 0;

    for (size_t i = 0; i < found->n; i++) {
        const struct found_item *item = &found->items[i];
        const struct box *box = &item->box;

        if (found->has_boxes &&
            !((double)item->score >= source->options->score))
            continue;
        objects[n] = (struct found_object){
            .name = found_name(source, item->label, names[n], max_name),
            .label = item->label,
            .score = item->score,
            .has_box = found->has_boxes,
            .box = {box->x1, box->y1, box->x2, box->y2},
        };
        n++;
    }
    return n;
}

enum assay_status found_tell(const struct found *found,
                             const struct found_source *source,
                             const char *name, struct run *run,
                             struct error *err)
{
    struct found_object *objects = mem_array(found->n, sizeof *objects);
    char(*names)[max_name] = mem_array(found->n, sizeof *names);
    struct found_photo photo = {.photograph = name, .objects = objects};
    enum assay_status st;

    if (objects && names) {
        photo.n = found_list_objects(found, source, objects, names);
        st = run_found_add(run, &photo, err);
    } else {
        st = error_nomem(err, found->n * sizeof *objects, "the detections");
    }
    mem_free(objects);
    mem_free(names);
    return st;
}
