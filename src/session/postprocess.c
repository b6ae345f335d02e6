/* session/postprocess.c - reads, lists, draws and writes what was found. */
#include "session/frame.h"

#include "base/file.h"
#include "base/mem.h"
#include "picture/canvas.h"
#include "vision/found.h"

#include <assay/span.h>
#include <math.h>
#include <string.h>

enum { max_name = 32 }; /* of a class without a name */

/* Lists those at or above the score, to be drawn. */
static size_t choose_targets(const struct found *found,
                             const struct found_source *source,
                             struct target *targets, char (*names)[max_name])
{
    size_t n = 0;

    ASSAY_SPAN("threshold");
    for (size_t i = 0; i < found->n; i++) {
        const struct found_item *item = &found->items[i];

        if (!((double)item->score >= source->options->score))
            continue;
        targets[n] = (struct target){
            .x1 = item->box.x1,
            .y1 = item->box.y1,
            .x2 = item->box.x2,
            .y2 = item->box.y2,
            .class_index = (int)item->label,
            .name = found_name(source, item->label, names[n], max_name),
            .score = item->score,
            .mask = item->mask,
        };
        n++;
    }
    return n;
}

static enum assay_status write_drawn(const char *folder,
                                     const struct picture *picture,
                                     const char *name, struct tally *tally,
                                     struct error *err)
{
    enum { jpeg_quality = 90 };
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
        st = picture_write_jpeg_with(picture, jpeg_quality, tally->comment,
                                     output_sink(output), err);
    if (st)
        output_discard(output);
    else
        st = output_commit(output, err);
    if (!st) {
        tally->n_drawn++;
        if (!tally->first_drawn.n)
            st = str_append(&tally->first_drawn, path.text);
    }
    str_release(&path);
    return st;
}

static enum assay_status draw_targets(const struct frame *frame, size_t image,
                                      const struct target *targets, size_t n,
                                      const char *folder, struct tally *tally,
                                      struct error *err)
{
    const struct picture *photo = &frame->pictures[image];
    struct picture drawn = {0};
    enum assay_status st;

    assay_begin("draw");
    st = canvas_draw_photo(photo, targets, n, &drawn, err);
    assay_end();
    if (!st)
        st = write_drawn(folder, &drawn, frame->drawn[image], tally, err);
    picture_release(&drawn);
    return st;
}

static enum assay_status
postprocess_draw(const struct frame *frame, const struct found_source *source,
                 const struct found *found, const char *folder,
                 struct tally *tally, struct error *err)
{
    struct target *targets = mem_array(found->n, sizeof *targets);
    char(*names)[max_name] = mem_array(found->n, sizeof *names);
    enum assay_status st;
    size_t n;

    if (!targets || !names) {
        st = error_nomem(err, found->n * sizeof *targets, "the detections");
    } else {
        n = choose_targets(found, source, targets, names);
        tally->n_detections += n;
        st = draw_targets(frame, source->image, targets, n, folder, tally, err);
    }
    mem_free(targets);
    mem_free(names);
    return st;
}

static void note_counts(const struct session *session, size_t image,
                        int64_t detections, struct tally *tally)
{
    const struct tensor *kept = session_kept(session, SESSION_PROPOSALS);
    bool is_first = tally->n_images++ == 0;

    tally->detections += detections;
    tally->last = detections;
    if (is_first || detections < tally->least)
        tally->least = detections;
    if (is_first || detections > tally->most)
        tally->most = detections;
    if (kept) {
        int64_t proposals = tensor_i64(kept)[image];

        tally->proposals += proposals;
        if (is_first || proposals < tally->least_proposals)
            tally->least_proposals = proposals;
        if (is_first || proposals > tally->most_proposals)
            tally->most_proposals = proposals;
    }
}

/* Only in the first round over the photographs. */
static enum assay_status tell(const struct found *found,
                              const struct found_source *source,
                              const char *path, struct tally *tally,
                              struct error *err)
{
    const char *slash = strrchr(path, '/');

    if (!tally->found || tally->n_told >= tally->n_photos)
        return ASSAY_OK;
    tally->n_told++;
    return found_tell(found, source, slash ? slash + 1 : path, tally->found,
                      err);
}

static struct found_source source_of(const struct frame *frame, size_t image,
                                     const struct session *session,
                                     const struct profile_options *options)
{
    struct found_source source = {
        .options = &options->session.vision,
        .outputs = session->outputs,
        .n_outputs = session->n_outputs,
        .recipe = &session->inputs.recipe,
        .pool = session->pool,
        .image = image,
        .width = frame->pictures[image].width,
        .height = frame->pictures[image].height,
        .told_width = frame->pictures[image].width,
        .told_height = frame->pictures[image].height,
    };

    model_inputs_size(&session->inputs, image, &source.told_width,
                      &source.told_height);
    return source;
}

static bool is_to_be_drawn(const struct found *found,
                           const struct profile_options *options)
{
    return found->has_boxes && !isnan(options->session.vision.score);
}

static enum assay_status process_image(struct frame *frame, size_t image,
                                       const struct session *session,
                                       const struct profile_options *options,
                                       struct tally *tally, struct error *err)
{
    const struct found_source source =
        source_of(frame, image, session, options);
    struct found *found = &frame->found[image];
    enum assay_status st = found_decode(&source, found, err);

    tally->has_boxes = found->has_boxes;
    if (!st) {
        note_counts(session, image, (int64_t)found->n, tally);
        st = tell(found, &source, frame->paths[image], tally, err);
    }
    if (!is_to_be_drawn(found, options))
        tally->n_detections += found->n;
    return st;
}

enum assay_status frame_postprocess(struct frame *frame,
                                    const struct session *session,
                                    const struct profile_options *options,
                                    struct tally *tally, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("postprocess");
    for (size_t i = 0; !st && i < frame->n && frame->paths[i]; i++)
        st = process_image(frame, i, session, options, tally, err);
    return st;
}

enum assay_status frame_draw(const struct frame *frame,
                             const struct session *session,
                             const struct profile_options *options,
                             struct tally *tally, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < frame->n && frame->paths[i]; i++) {
        const struct found_source source =
            source_of(frame, i, session, options);

        if (!is_to_be_drawn(&frame->found[i], options))
            continue;
        assay_begin("drawing");
        st = postprocess_draw(frame, &source, &frame->found[i],
                              options->drawn_dir, tally, err);
        assay_end();
    }
    return st;
}
