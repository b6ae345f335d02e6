/* views/event_file.c - see tensorboard_internal.h. */
#include "views/tensorboard_internal.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <tensorboard.pb-c.h> /* made from tensorboard.proto */

/* ---- records ------------------------------------------------------------ */

static void event_put_little_endian(char *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(value >> 8 * i);
}

/* Rotated and shifted, so that a checksum of data that includes checksums is
 * not trivial. */
static uint32_t event_masked_crc(const void *bytes, size_t n)
{
    uint32_t crc = crc32c(bytes, n);

    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static void event_put_record(struct sink *sink, const void *bytes, size_t n)
{
    char head[12], tail[4];

    event_put_little_endian(head, n, 8);
    event_put_little_endian(head + 8, event_masked_crc(head, 8), 4);
    event_put_little_endian(tail, event_masked_crc(bytes, n), 4);
    sink_write(sink, head, sizeof head);
    sink_write(sink, bytes, n);
    sink_write(sink, tail, sizeof tail);
}

static enum assay_status
put_event(struct sink *sink, const Tensorboard__Event *event, struct error *err)
{
    size_t n = tensorboard__event__get_packed_size(event);
    uint8_t *bytes = mem_alloc(n ? n : 1);

    if (!bytes)
        return error_nomem(err, n, "an event for TensorBoard");
    tensorboard__event__pack(event, bytes);
    event_put_record(sink, bytes, n);
    mem_free(bytes);
    return ASSAY_OK;
}

/* ---- events ------------------------------------------------------------- */

enum assay_status event_version(struct sink *sink, double wall,
                                struct error *err)
{
    Tensorboard__Event event = TENSORBOARD__EVENT__INIT;

    event.wall_time = wall;
    event.what_case = TENSORBOARD__EVENT__WHAT_FILE_VERSION;
    event.file_version = (char *)"brain.Event:2";
    return put_event(sink, &event, err);
}

static enum assay_status
event_file_put_value(struct sink *sink, struct event_time when,
                     Tensorboard__Summary__Value *value, struct error *err)
{
    Tensorboard__Summary summary = TENSORBOARD__SUMMARY__INIT;
    Tensorboard__Event event = TENSORBOARD__EVENT__INIT;

    summary.n_value = 1;
    summary.value = &value;
    event.wall_time = when.wall;
    event.step = when.step;
    event.what_case = TENSORBOARD__EVENT__WHAT_SUMMARY;
    event.summary = &summary;
    return put_event(sink, &event, err);
}

/* protobuf-c has no const, but does not write through these. */
static Tensorboard__Summary__Value event_tagged(const char *tag)
{
    Tensorboard__Summary__Value value = TENSORBOARD__SUMMARY__VALUE__INIT;

    value.tag = (char *)tag;
    return value;
}

enum assay_status event_scalar(struct sink *sink, struct event_time when,
                               const char *tag, double number,
                               struct error *err)
{
    Tensorboard__Summary__Value value = event_tagged(tag);

    value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    value.simple_value = (float)number;
    return event_file_put_value(sink, when, &value, err);
}

enum assay_status event_image(struct sink *sink, struct event_time when,
                              const char *tag, int width, int height,
                              const void *bytes, size_t n, struct error *err)
{
    enum { rgb = 3 };
    Tensorboard__Summary__Image image = TENSORBOARD__SUMMARY__IMAGE__INIT;
    Tensorboard__Summary__Value value = event_tagged(tag);

    image.width = width;
    image.height = height;
    image.colorspace = rgb;
    image.encoded_image_string =
        (ProtobufCBinaryData){.len = n, .data = (uint8_t *)bytes};
    value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_IMAGE;
    value.image = &image;
    return event_file_put_value(sink, when, &value, err);
}

enum assay_status event_text(struct sink *sink, struct event_time when,
                             const char *tag, const char *text,
                             struct error *err)
{
    enum { string_type = 7 };
    Tensorboard__SummaryMetadata__PluginData plugin =
        TENSORBOARD__SUMMARY_METADATA__PLUGIN_DATA__INIT;
    Tensorboard__SummaryMetadata metadata = TENSORBOARD__SUMMARY_METADATA__INIT;
    Tensorboard__TensorShape scalar = TENSORBOARD__TENSOR_SHAPE__INIT;
    Tensorboard__Tensor tensor = TENSORBOARD__TENSOR__INIT;
    Tensorboard__Summary__Value value = event_tagged(tag);
    ProtobufCBinaryData words = {.len = strlen(text), .data = (uint8_t *)text};

    plugin.plugin_name = (char *)"text";
    metadata.plugin_data = &plugin;
    tensor.dtype = string_type;
    tensor.tensor_shape = &scalar;
    tensor.n_string_val = 1;
    tensor.string_val = &words;
    value.metadata = &metadata;
    value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_TENSOR;
    value.tensor = &tensor;
    return event_file_put_value(sink, when, &value, err);
}

/* ---- histograms --------------------------------------------------------- */

static void event_file_sum_up(Tensorboard__Histogram *histogram,
                              const double *values, size_t n)
{
    histogram->min = INFINITY;
    histogram->max = -INFINITY;
    histogram->num = (double)n;
    for (size_t i = 0; i < n; i++) {
        histogram->min = fmin(histogram->min, values[i]);
        histogram->max = fmax(histogram->max, values[i]);
        histogram->sum += values[i];
        histogram->sum_squares += values[i] * values[i];
    }
}

static void event_file_count_bins(Tensorboard__Histogram *histogram,
                                  const double *values, size_t n)
{
    size_t n_bins = histogram->n_bucket;
    double width = (histogram->max - histogram->min) / (double)n_bins;

    if (!(width > 0))
        width = fmax(fabs(histogram->max), 1) * 1e-6;
    for (size_t i = 0; i < n_bins; i++)
        histogram->bucket_limit[i] = histogram->min + width * (double)(i + 1);
    for (size_t i = 0; i < n; i++) {
        double at = floor((values[i] - histogram->min) / width);

        histogram->bucket[(size_t)fmin(at, (double)(n_bins - 1))]++;
    }
}

enum assay_status event_histogram(struct sink *sink, struct event_time when,
                                  const char *tag, const double *values,
                                  size_t n, size_t n_bins, struct error *err)
{
    Tensorboard__Histogram histogram = TENSORBOARD__HISTOGRAM__INIT;
    Tensorboard__Summary__Value value = event_tagged(tag);
    double *bins = mem_array(2 * n_bins, sizeof *bins);
    enum assay_status st;

    if (!bins)
        return error_nomem(err, 2 * n_bins * sizeof *bins, "a histogram");
    histogram.n_bucket = histogram.n_bucket_limit = n_bins;
    histogram.bucket = bins;
    histogram.bucket_limit = bins + n_bins;
    event_file_sum_up(&histogram, values, n);
    event_file_count_bins(&histogram, values, n);
    value.value_case = TENSORBOARD__SUMMARY__VALUE__VALUE_HISTO;
    value.histo = &histogram;
    st = event_file_put_value(sink, when, &value, err);
    mem_free(bins);
    return st;
}
