/* cli/worker_lanes.c - see worker_lanes.h. */
#include "cli/worker_lanes.h"

#include "record/record.h"
#include "team/team.h"

#include <stdio.h>

/* Whether this worker opened a span for its region. */
static _Thread_local bool worker_lanes_is_open;

static unsigned worker_lanes_where(void)
{
    return assay_is_recording() ? assay_scope_here() : ASSAY_SCOPE_NONE;
}

static void worker_lanes_begin(unsigned scope, int number)
{
    char name[32];

    worker_lanes_is_open = false;
    if (scope == ASSAY_SCOPE_NONE || scope == ASSAY_SCOPE_ROOT)
        return;
    snprintf(name, sizeof name, "OpenMP worker %d", number);
    worker_lanes_is_open = record_help_begin(name, scope);
}

static void worker_lanes_end(void)
{
    if (worker_lanes_is_open)
        assay_end();
    worker_lanes_is_open = false;
}

void worker_lanes_show(void)
{
    static const struct team_watch watch = {
        worker_lanes_where, worker_lanes_begin, worker_lanes_end};

    team_set_watch(&watch);
    record_show_writer(true);
}
