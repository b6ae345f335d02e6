/* The ledger of memory on the screen and as JSON. */
#include "made_runs.h"
#include "test.h"

static struct error err;

/* MiB of the peak that made_model() has, by owner: 612 in all, and 100 more of
 * the process. */
static struct run *owned_model(void)
{
    static const struct {
        enum ledger_kind kind;
        uint32_t scope;
        int mib;
        const char *what;
    } rows[] = {
        {LEDGER_WEIGHTS, RUN_NONE, 159, "as loaded"},
        {LEDGER_ACTIVATIONS, 7, 300, ""},
        {LEDGER_ACTIVATIONS, 11, 50, "gathered"},
        {LEDGER_SCRATCH, RUN_NONE, 96, "of kernels"},
        {LEDGER_FRAGMENTATION, RUN_NONE, 7, ""},
        {LEDGER_OUTSIDE, RUN_NONE, 100, "<libraries>"},
    };
    struct run *run = made_model(10);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ledger_row row = {.kind = rows[i].kind,
                                 .scope = rows[i].scope,
                                 .bytes = (int64_t)rows[i].mib << 20,
                                 .what = rows[i].what};

        CHECK_STATUS(run_ledger_add(run, &row, &err), ASSAY_OK, &err);
    }
    CHECK_INT(run_fact_set(run, "memory.process_peak_bytes", "746586112", &err),
              ASSAY_OK);
    return run;
}

static void check_parts(run_view *view, struct run *run, bool all, size_t limit,
                        const char *const *parts)
{
    struct view_options options = view_defaults(term_plain(200));
    struct str text;

    options.all = all;
    options.limit = limit;
    text = view_text(view, run, &options);
    for (; *parts; parts++)
        CHECK_HAS(str_text(&text), *parts);
    str_release(&text);
    run_free(run);
}

TEST(the_screen_shows_what_the_peak_consisted_of)
{
    static const char *const parts[] = {
        "memory   peak 612 MiB at backbone.fpn.layer_blocks.0: weights 159, "
        "activations 350, scratch 96, fragmentation 7.0 MiB   process 712 MiB",
        NULL};

    check_parts(view_summary, owned_model(), false, 0, parts);
}

TEST(a_program_that_reports_categories_has_them_on_the_screen)
{
    static const struct {
        const char *category;
        int mib;
    } changes[] = {{"weights", 200}, {"activations", 412}, {"weights", -50}};
    static const char *const parts[] = {
        "memory   peak 612 MiB at backbone.fpn.layer_blocks.0: weights 200, "
        "activations 412 MiB   from sizes",
        NULL};
    struct run *run = made_model(10);

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        CHECK_STATUS(run_space_change(run, "host", changes[i].category,
                                      (int64_t)changes[i].mib * 1048576, &err),
                     ASSAY_OK, &err);
    CHECK_INT(run_fact_set(run, "memory.basis", "from sizes", &err), ASSAY_OK);
    check_parts(view_summary, run, false, 0, parts);
}

TEST(the_ledger_adds_up_to_the_pool_and_to_the_process)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = owned_model();
    struct str text = view_text(view_memory, run, &options);

    check_golden("memory-80.txt", &text);
    CHECK(widest_line(str_text(&text)) <= 80);
    str_release(&text);
    run_free(run);
}

TEST(small_owners_beyond_the_limit_are_summed_up)
{
    static const char *const some[] = {"and 1 smaller ones (--limit, --all)",
                                       NULL};
    static const char *const every[] = {"  backbone.fpn, gathered", NULL};

    check_parts(view_memory, owned_model(), false, 1, some);
    check_parts(view_memory, owned_model(), true, 1, every);
}

TEST(json_has_every_owner)
{
    static const char *const parts[] = {
        "\"process_peak_bytes\": 746586112",
        "{\"kind\": \"activations\", \"scope\": "
        "\"model.backbone.body\", \"what\": \"\", \"bytes\": 314572800}",
        "{\"kind\": \"outside the pool\", \"scope\": null, \"what\": "
        "\"<libraries>\", \"bytes\": 104857600}",
        NULL};

    check_parts(view_json, owned_model(), false, 0, parts);
}

TEST(unknown_memory_is_reported)
{
    static const char *const no_ledger[] = {"owners   - unknown", NULL};
    static const char *const nothing[] = {"memory   - unknown", NULL};
    static const char *const untouched[] = {
        "taken from the system but never touched", " -1.0 ", " 711.0 ", NULL};
    struct run *run = made_model(10), *touched = owned_model();

    check_parts(view_memory, run, false, 0, no_ledger);
    run = made_model(10);
    run_memory(run)->peak_bytes = RUN_UNKNOWN;
    check_parts(view_memory, run, false, 0, nothing);
    CHECK_INT(run_fact_set(touched, "memory.untouched_bytes", "1048576", &err),
              ASSAY_OK);
    check_parts(view_memory, touched, false, 0, untouched);
}
