/* cli/cmd_serve.c - assay serve: a folder of runs in a browser. */
#include "cli/command.h"

#include "cli/interrupt.h"
#include "cli/result.h"
#include "serve/serve.h"

struct settings {
    int64_t port;
    double fail_above;
    const char *baseline;
};

enum { SERVE_PORT = 8517 };
#define SERVE_ABOVE 0.05

static const struct settings defaults = {.port = SERVE_PORT,
                                         .fail_above = SERVE_ABOVE};

static const struct option options[] = {
    {OPT_INTEGER("port", "N", 0, 65535), .letter = 'p',
     .help = "port on 127.0.0.1; 0: one that is free", .shown_default = "8517",
     OPTION_FIELD(struct settings, port)},
    {OPT_PERCENT("fail-above", "N%", 0, 100),
     .help = "what the gate of `assay compare` lets a run be slower by",
     .shown_default = "5%", OPTION_FIELD(struct settings, fail_above)},
    {OPT_TEXT("baseline", "NAME"),
     .help = "judge runs against this one of the folder, not each against the "
             "run before it",
     OPTION_FIELD(struct settings, baseline)},
    {.kind = OPTION_END},
};

static enum assay_status run_serve(const struct arguments *arguments,
                                   struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct budgets budgets = {0};
    struct serve serve = {.folder = {.path = arguments->operands.n
                                                 ? arguments->operands.items[0]
                                                 : ".",
                                     .budgets = &budgets,
                                     .base = settings->baseline}};
    struct server *server = NULL;
    struct str text = {0};
    enum assay_status st =
        budgets_add(&budgets, NULL, settings->fail_above, err);

    if (!st)
        st = folder_refresh(&serve.folder, err);
    if (!st)
        st = folder_check_base(&serve.folder, err);
    if (!st)
        st = server_open((unsigned)settings->port, &server, err);
    if (!st && str_printf(&text, "serves %s\nopen   http://127.0.0.1:%u/\n",
                          serve.folder.path, server_port(server)))
        st = error_nomem(err, 0, "the address");
    if (!st)
        st = result_print(text.text, err);
    if (!st)
        st = server_run(server, serve_answer, &serve, interrupt_watch_quietly(),
                        err);
    str_release(&text);
    server_close(server);
    serve_release(&serve);
    budgets_release(&budgets);
    return st;
}

const struct command cmd_serve = {
    .name = "serve",
    .section = "Runs",
    .purpose = "show the runs of a folder in a browser, live",
    .usage = TEXTS("serve [options] [FOLDER]"),
    .operands = {.min = 0, .max = 1, .endings = TEXTS("")},
    .description = TEXTS(
        "Shows the folder's runs as a list, with the trend of each model and, "
        "for each run, the verdict of the gate of `assay compare` against the "
        "run before it or against a baseline. Each run opens as the page of "
        "`assay report`, and "
        "two of them as their difference. The page of a run that is being "
        "recorded loads itself again.",
        "Only programs on this machine can reach it (127.0.0.1), only the "
        "folder's own files are read, and nothing is changed. Ctrl-C ends it."),
    .options = options,
    .examples = EXAMPLES({"serve runs/", "then open the address it prints"},
                         {"serve runs/ --baseline main.assay --fail-above 3%",
                          "judge every run against main.assay"},
                         {"serve --port 0", "the current folder, on any port "
                                            "that is free"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_serve,
};
