/* Counting what a dataset holds. */
#include "base/mem.h"
#include "data/census.h"
#include "made_files.h"

static struct error err;

struct heard {
    int n;
    char all[2000];
};

static void hear(void *context, const char *line)
{
    struct heard *heard = context;
    size_t n = strlen(heard->all);

    heard->n++;
    snprintf(heard->all + n, sizeof heard->all - n, "%s\n", line);
}

/* Two good objects, a crowd, a box outside and one that reaches out, in two
 * images of which the second does not have the size it should. */
static const char json[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"a.png\",\"width\":8,\"height\":6},"
    "{\"id\":2,\"file_name\":\"b.png\",\"width\":9,\"height\":4},"
    "{\"id\":3,\"file_name\":\"c.png\",\"width\":8,\"height\":6}],"
    "\"categories\":[{\"id\":1,\"name\":\"cat\"},{\"id\":2,\"name\":\"dog\"}],"
    "\"annotations\":["
    "{\"id\":1,\"image_id\":1,\"category_id\":2,\"bbox\":[0,0,2,2],"
    "\"area\":4,\"iscrowd\":0},"
    "{\"id\":2,\"image_id\":1,\"category_id\":2,\"bbox\":[4,4,8,2],"
    "\"area\":16,\"iscrowd\":0},"
    "{\"id\":3,\"image_id\":1,\"category_id\":1,\"bbox\":[20,0,2,2],"
    "\"area\":4,\"iscrowd\":0},"
    "{\"id\":4,\"image_id\":1,\"category_id\":1,\"bbox\":[0,0,2,2],"
    "\"area\":4,\"iscrowd\":1},"
    "{\"id\":5,\"image_id\":2,\"category_id\":1,\"bbox\":[0,0,2,2],"
    "\"area\":4,\"iscrowd\":0}]}";

static struct dataset *open_made(void)
{
    static const uint8_t grey[3] = {9, 9, 9};
    const struct dataset_options options = {.kind = DATASET_COCO,
                                            .path = test_path("made/all.json")};
    struct dataset *dataset;

    write_text(test_path("made/all.json"), json);
    write_photo(test_path("made/a.png"), 8, 6, grey);
    write_photo(test_path("made/b.png"), 8, 6, grey);
    write_photo(test_path("made/c.png"), 8, 6, grey);
    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

TEST(boxes_are_counted_by_class_and_odd_ones_reported)
{
    struct dataset *dataset = open_made();
    struct heard heard = {0};
    const struct census_options options = {.odd = hear, .context = &heard};
    struct census census;

    CHECK_STATUS(census_dataset(dataset, &options, &census, &err), ASSAY_OK,
                 &err);
    CHECK_INT(census.n_samples, 3);
    CHECK_INT(census.n_bad, 0);
    CHECK_INT(census.n_without, 1);
    CHECK_INT(census.n_boxes, 3);
    CHECK_INT(census.n_crowds, 1);
    CHECK_INT(census.n_cut, 1);
    CHECK_INT(census.n_left_out, 1);
    CHECK_INT(census.n_of_class[0], 1);
    CHECK_INT(census.n_of_class[1], 2);
    CHECK_INT(census.least_width, 8);
    CHECK_INT(census.least_height, 4);
    CHECK_INT(census.most_width, 9);
    CHECK_INT(census.most_height, 6);
    CHECK_INT(heard.n, 2);
    CHECK_HAS(heard.all, "a.png: the box 4,4 8x2 reaches out");
    CHECK_HAS(heard.all, "a.png: the box 20,0 2x2 lies outside");
    census_release(&census);
    dataset_close(dataset);
}

TEST(reading_the_images_finds_those_of_another_size)
{
    struct dataset *dataset = open_made();
    struct heard heard = {0};
    const struct census_options options = {
        .reads_images = true, .odd = hear, .context = &heard};
    struct census census;

    CHECK_STATUS(census_dataset(dataset, &options, &census, &err), ASSAY_OK,
                 &err);
    CHECK_INT(census.n_bad, 1);
    CHECK_INT(census.n_boxes, 2);
    CHECK_INT(census.most_width, 8);
    CHECK_HAS(heard.all, "b.png has 8x6 pixels");
    census_release(&census);
    dataset_close(dataset);
}

TEST(running_out_of_memory_is_not_blamed_on_a_sample)
{
    struct dataset *dataset = open_made();
    struct heard heard = {0}, all;
    const struct census_options options = {
        .reads_images = true, .odd = hear, .context = &heard};
    struct census census;
    long before = mem_live();
    enum assay_status st = ASSAY_NOMEM;

    CHECK_INT(census_dataset(dataset, &options, &census, &err), ASSAY_OK);
    census_release(&census);
    all = heard;

    for (long nth = 0; st == ASSAY_NOMEM; nth++) {
        heard = (struct heard){0};
        err = (struct error){0};
        mem_fail_at(nth);
        st = census_dataset(dataset, &options, &census, &err);
        mem_fail_at(-1);
        CHECK(strncmp(all.all, heard.all, strlen(heard.all)) == 0);
        census_release(&census);
        CHECK_INT(mem_live(), before);
    }
    CHECK_STATUS(st, ASSAY_OK, &err);
    CHECK_STR(heard.all, all.all);
    dataset_close(dataset);
}
