/* detect/postprocess.c - what was found: read, listed, drawn, written. */
#include "detect/frame.h"

#include "base/file.h"
#include "base/mem.h"
#include "detect/found.h"
#include "picture/canvas.h"

#include <assay/span.h>
#include <math.h>
#include <string.h>

enum { max_name = 32 }; /* of a class that is a number */

/* Those at or above the score, as what is to be drawn. */
static size_t choose_targets(const struct found *found,
                             const struct found_source *source,
                             struct target *targets, char (*names)[max_name])
{
    const struct detect_options *options = source->options;
    size_t n = 0;

    ASSAY_SPAN("threshold");
    for (size_t i = 0; i < found->n; i++) {
        const struct found_item *item = &found->items[i];

        if (!((double)item->score >= options->score))
            continue;
        targets[n] = (struct target){
            .x1 = item->box.x1,
            .y1 = item->box.y1,
            .x2 = item->box.x2,
            .y2 = item->box.y2,
            .class_index = (int)item->label,
            .name = found_name(options, source->session, item->label, names[n],
                               max_name),
            .score = item->score,
            .mask = item->mask,
        };
        n++;
    }
    return n;
}

static enum assay_status
write_drawn(const struct detect_options *options, const struct picture *picture,
            const char *name, struct findings *findings, struct error *err)
{
    enum { jpeg_quality = 90 };
    const char *folder = options->drawn_dir;
    struct str path = {0};
    struct output *output = NULL;
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("encode");
    if (str_printf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "",
                   name))
        st = error_nomem(err, strlen(name), "a file name");
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

static enum assay_status draw_targets(const struct frame *frame, size_t image,
                                      const struct target *targets, size_t n,
                                      const struct detect_options *options,
                                      struct findings *findings,
                                      struct error *err)
{
    const struct picture *photo = &frame->pictures[image];
    struct picture drawn;
    enum assay_status st =
        picture_init(&drawn, photo->width, photo->height, err);

    if (!st) {
        memcpy(drawn.rgb, photo->rgb,
               (size_t)drawn.width * (size_t)drawn.height * 3);
        assay_begin("draw");
        st = canvas_draw_targets(&drawn, targets, n, err);
        assay_end();
    }
    if (!st)
        st = write_drawn(options, &drawn, frame->drawn[image], findings, err);
    picture_release(&drawn);
    return st;
}

static enum assay_status draw(const struct frame *frame,
                              const struct found_source *source,
                              const struct found *found,
                              struct findings *findings, struct error *err)
{
    struct target *targets = mem_array(found->n, sizeof *targets);
    char(*names)[max_name] = mem_array(found->n, sizeof *names);
    enum assay_status st;
    size_t n;

    if (!targets || !names) {
        st = error_nomem(err, found->n * sizeof *targets, "the detections");
    } else {
        n = choose_targets(found, source, targets, names);
        findings->n_detections += n;
        st = draw_targets(frame, source->image, targets, n, source->options,
                          findings, err);
    }
    mem_free(targets);
    mem_free(names);
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

/* In the first round over the photographs only. */
static void list(const struct found *found, const struct found_source *source,
                 const char *path, struct findings *findings)
{
    const char *slash = strrchr(path, '/');

    if (!source->options->found || findings->n_listed >= findings->n_photos)
        return;
    findings->n_listed++;
    found_list(found, source, slash ? slash + 1 : path, source->options->found);
}

static enum assay_status process_image(const struct frame *frame,
                                       const struct found_source *source,
                                       struct findings *findings,
                                       struct error *err)
{
    const char *path = frame->paths[source->image];
    struct found found = {0};
    enum assay_status st = found_decode(source, &found, err);

    findings->has_boxes = found.has_boxes;
    if (!st) {
        note_counts(source->session, source->image, (int64_t)found.n, findings);
        list(&found, source, path, findings);
    }
    if (!st && found.has_boxes && !isnan(source->options->score))
        st = draw(frame, source, &found, findings, err);
    else
        findings->n_detections += found.n;
    found_release(&found);
    return st;
}

enum assay_status frame_postprocess(const struct frame *frame,
                                    const struct session *session,
                                    const struct detect_options *options,
                                    struct findings *findings,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("postprocess");
    for (size_t i = 0; !st && i < frame->n && frame->paths[i]; i++)
        st = process_image(
            frame,
            &(struct found_source){.session = session,
                                   .options = options,
                                   .image = i,
                                   .width = frame->pictures[i].width,
                                   .height = frame->pictures[i].height},
            findings, err);
    return st;
}
