/* detect/postprocess.c - what was found: thresholded, drawn, written. */
#include "detect/frame.h"

#include "base/file.h"
#include "base/mem.h"
#include "picture/canvas.h"

#include <assay/span.h>
#include <math.h>
#include <string.h>

/* The detections of one image among those of the batch. */
struct slice {
    const float *boxes, *scores;
    const int64_t *labels;
    const uint8_t *masks; /* NULL: the model has none */
    size_t n;
};

static struct slice slice_of(const struct session *session, size_t image)
{
    const struct tensor *outputs = session->outputs;
    const int64_t *counts = tensor_i64(&outputs[SESSION_COUNTS]);
    struct slice slice = {0};
    size_t before = 0;

    for (size_t i = 0; i < image; i++)
        before += (size_t)counts[i];
    slice.n = (size_t)counts[image];
    slice.boxes = tensor_f32(&outputs[SESSION_BOXES]) + 4 * before;
    slice.scores = tensor_f32(&outputs[SESSION_SCORES]) + before;
    slice.labels = tensor_i64(&outputs[SESSION_LABELS]) + before;
    if (session->n_outputs > SESSION_MASKS)
        slice.masks = tensor_data(&outputs[SESSION_MASKS + image]);
    return slice;
}

static const char *label_name(const struct detect_options *options,
                              int64_t label)
{
    if (!options->labels)
        return model_coco_class(label);
    return label >= 0 && (size_t)label < options->n_labels
               ? options->labels[label]
               : "?";
}

/* Those at or above the score, as what is to be drawn. */
static size_t choose_targets(const struct slice *slice,
                             const struct detect_options *options,
                             const struct picture *picture,
                             struct target *targets)
{
    size_t pixels = (size_t)picture->width * (size_t)picture->height, n = 0;

    ASSAY_SPAN("threshold");
    for (size_t i = 0; i < slice->n; i++) {
        const float *box = slice->boxes + 4 * i;

        if (!(slice->scores[i] >= options->score))
            continue;
        targets[n++] = (struct target){
            .x1 = box[0],
            .y1 = box[1],
            .x2 = box[2],
            .y2 = box[3],
            .class_index = (int)slice->labels[i],
            .name = label_name(options, slice->labels[i]),
            .score = slice->scores[i],
            .mask = slice->masks ? slice->masks + i * pixels : NULL,
        };
    }
    return n;
}

static enum assay_status drawn_path(const struct detect_options *options,
                                    const char *photo, struct str *path,
                                    struct error *err)
{
    if (options->drawn_dir && str_printf(path, "%s/", options->drawn_dir))
        return error_nomem(err, strlen(photo), "a file name");
    return photos_drawn_name(photo, path, err);
}

static enum assay_status
write_drawn(const struct detect_options *options, const struct picture *picture,
            const char *photo, struct findings *findings, struct error *err)
{
    enum { jpeg_quality = 90 };
    struct str path = {0};
    struct output *output = NULL;
    enum assay_status st;

    ASSAY_SPAN("encode");
    st = drawn_path(options, photo, &path, err);
    if (!st)
        st = output_open(path.text, &output, err);
    if (!st)
        st =
            picture_write_jpeg(picture, jpeg_quality, output_sink(output), err);
    if (st)
        output_discard(output);
    else
        st = output_commit(output, err);
    if (!st) {
        findings->n_drawn++;
        if (!findings->first_drawn.n)
            st = str_append(&findings->first_drawn, path.text);
    }
    str_release(&path);
    return st;
}

static enum assay_status draw(const struct frame *frame, size_t image,
                              const struct slice *slice,
                              const struct detect_options *options,
                              struct findings *findings, struct error *err)
{
    struct target *targets = mem_array(slice->n, sizeof *targets);
    struct picture drawn;
    enum assay_status st;
    size_t n;

    if (!targets)
        return error_nomem(err, slice->n * sizeof *targets, "the detections");
    n = choose_targets(slice, options, &frame->pictures[image], targets);
    findings->n_detections += n;
    st = picture_init(&drawn, frame->pictures[image].width,
                      frame->pictures[image].height, err);
    if (!st) {
        memcpy(drawn.rgb, frame->pictures[image].rgb,
               (size_t)drawn.width * (size_t)drawn.height * 3);
        assay_begin("draw");
        st = canvas_draw_targets(&drawn, targets, n, err);
        assay_end();
    }
    if (!st)
        st = write_drawn(options, &drawn, frame->paths[image], findings, err);
    picture_release(&drawn);
    mem_free(targets);
    return st;
}

static void note_counts(const struct session *session, size_t image,
                        int64_t detections, struct findings *findings)
{
    const struct tensor *kept = session_kept(session, SESSION_PROPOSALS);
    bool is_first = findings->n_images++ == 0;

    findings->detections += detections;
    findings->last = detections;
    if (is_first || detections < findings->least)
        findings->least = detections;
    if (is_first || detections > findings->most)
        findings->most = detections;
    if (kept) {
        int64_t proposals = tensor_i64(kept)[image];

        findings->proposals += proposals;
        if (is_first || proposals < findings->least_proposals)
            findings->least_proposals = proposals;
        if (is_first || proposals > findings->most_proposals)
            findings->most_proposals = proposals;
    }
}

enum assay_status frame_postprocess(const struct frame *frame,
                                    const struct session *session,
                                    const struct detect_options *options,
                                    struct findings *findings,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("postprocess");
    for (size_t i = 0; !st && i < frame->n; i++) {
        struct slice slice = slice_of(session, i);

        note_counts(session, i, (int64_t)slice.n, findings);
        if (isnan(options->score))
            findings->n_detections += slice.n;
        else
            st = draw(frame, i, &slice, options, findings, err);
    }
    return st;
}
