/* detect/found.c - see found.h. */
#include "detect/found.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"

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

enum assay_status found_decode(const struct found_source *source,
                               struct found *found, struct error *err)
{
    static decode_outputs *const decoders[] = {
        [DECODE_DETECTOR] = decode_detector,
        [DECODE_CLASSES] = decode_classes,
        [DECODE_YOLOV8] = decode_yolov8,
        [DECODE_SSD] = decode_ssd,
    };

    if (source->options->decode == DECODE_NONE)
        return ASSAY_OK;
    found->has_boxes = source->options->decode != DECODE_CLASSES;
    return decoders[source->options->decode](source, found, err);
}

/* COCO's 80 classes that are used, counted from 0: those of its 91 that have a
 * name. */
static const char *coco_80(int64_t number)
{
    for (int64_t label = 1; label <= 90; label++) {
        const char *name = model_coco_class(label);

        if (strcmp(name, "N/A") != 0 && number-- == 0)
            return name;
    }
    return NULL;
}

static bool is_coco_80(const struct session *session)
{
    enum { values_of_80_classes = 84 };

    return session->n_outputs > 0 && session->outputs[0].shape.rank == 3 &&
           session->outputs[0].shape.dims[1] == values_of_80_classes;
}

const char *found_name(const struct detect_options *options,
                       const struct session *session, int64_t label,
                       char *buffer, size_t size)
{
    const char *name = NULL;

    if (options->labels)
        return label >= 0 && (size_t)label < options->n_labels
                   ? options->labels[label]
                   : "?";
    if (options->decode == DECODE_DETECTOR)
        return model_coco_class(label);
    if (options->decode == DECODE_YOLOV8 && is_coco_80(session))
        name = coco_80(label);
    if (name)
        return name;
    snprintf(buffer, size, "%lld", (long long)label);
    return buffer;
}

static void list_boxes(const struct found *found,
                       const struct found_source *source, const char *name,
                       struct sink *sink)
{
    char number[32];

    for (size_t i = 0; i < found->n; i++) {
        const struct found_item *item = &found->items[i];

        if ((double)item->score < source->options->score)
            continue;
        sink_printf(sink, "  %s  %s %.3f  %.1f %.1f %.1f %.1f\n", name,
                    found_name(source->options, source->session, item->label,
                               number, sizeof number),
                    (double)item->score, (double)item->box.x1,
                    (double)item->box.y1, (double)item->box.x2,
                    (double)item->box.y2);
    }
}

static void write_item(struct json_writer *json, const struct found *found,
                       const struct found_source *source, size_t i)
{
    const struct found_item *item = &found->items[i];
    const struct box *box = &item->box;
    const float sides[] = {box->x1, box->y1, box->x2, box->y2};
    char number[32];

    json_object_begin(json);
    json_member_int(json, "label", item->label);
    json_member_string(json, "name",
                       found_name(source->options, source->session, item->label,
                                  number, sizeof number));
    json_key(json, "score");
    json_write_rounded(json, (double)item->score, 6);
    if (found->has_boxes) {
        json_key(json, "box");
        json_array_begin(json);
        for (size_t k = 0; k < sizeof sides / sizeof *sides; k++)
            json_write_rounded(json, (double)sides[k], 6);
        json_array_end(json);
    }
    json_object_end(json);
}

static void list_json(const struct found *found,
                      const struct found_source *source, const char *name,
                      struct sink *sink)
{
    struct json_writer json = json_writer(sink, 0);

    json_object_begin(&json);
    json_member_string(&json, "photograph", name);
    json_key(&json, "items");
    json_array_begin(&json);
    for (size_t i = 0; i < found->n; i++) {
        if (!found->has_boxes ||
            (double)found->items[i].score >= source->options->score)
            write_item(&json, found, source, i);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

void found_list(const struct found *found, const struct found_source *source,
                const char *name, struct sink *sink)
{
    char number[32];

    if (source->options->found_as_json) {
        list_json(found, source, name, sink);
        return;
    }
    if (found->has_boxes) {
        list_boxes(found, source, name, sink);
        return;
    }
    for (size_t i = 0; i < found->n; i++)
        sink_printf(sink, "%s%s %s %.4f", i ? "," : "  ", i ? "" : name,
                    found_name(source->options, source->session,
                               found->items[i].label, number, sizeof number),
                    (double)found->items[i].score);
    if (found->n)
        sink_puts(sink, "\n");
}
