/* record/facts.c - facts about the machine and the program. */
#include "record/record_internal.h"

#include "base/processor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static enum assay_status facts_set_processor(struct run *run, struct error *err)
{
    const char *simd = processor_simd();
    enum assay_status st = ASSAY_OK;
    char name[256];

    if (processor_name("", name, sizeof name))
        st = run_fact_set(run, "machine.cpu", name, err);
    if (!st && simd)
        st = run_fact_set(run, "machine.simd", simd, err);
    return st;
}

/* The words of the command line; in /proc each ends with a NUL. */
static enum assay_status facts_set_command(struct run *run, struct error *err)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    char command[1024];
    size_t n;

    if (!file)
        return ASSAY_OK;
    n = fread(command, 1, sizeof command - 1, file);
    fclose(file);
    while (n && command[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)command[i] < ' ')
            command[i] = ' ';
    }
    command[n] = '\0';
    return n ? run_fact_set(run, "program.command", command, err) : ASSAY_OK;
}

static enum assay_status facts_set_system(struct run *run, struct error *err)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname system;
    enum assay_status st = ASSAY_OK;

    if (cores > 0)
        st = run_fact_printf(run, err, "machine.cores", "%ld", cores);
    if (!st && pages > 0 && page_bytes > 0)
        st = run_fact_printf(run, err, "machine.memory_bytes", "%lld",
                             (long long)pages * page_bytes);
    if (!st && uname(&system) == 0)
        st = run_fact_printf(run, err, "machine.kernel", "%s %s",
                             system.sysname, system.release);
    return st;
}

static enum assay_status facts_set_time(struct run *run, struct error *err)
{
    time_t now = time(NULL);
    struct tm utc;
    char text[32];

    if (!gmtime_r(&now, &utc) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return ASSAY_OK;
    return run_fact_set(run, "time.started", text, err);
}

/* Which version of the measured program this is, for the trend of several runs:
 * only who starts it can know. */
static enum assay_status facts_set_commit(struct run *run, struct error *err)
{
    const char *commit = getenv("ASSAY_COMMIT");

    return commit && *commit ? run_fact_set(run, "program.commit", commit, err)
                             : ASSAY_OK;
}

enum assay_status facts_set(struct run *run, struct error *err)
{
    enum assay_status st = facts_set_processor(run, err);

    if (!st)
        st = facts_set_system(run, err);
    if (!st)
        st = run_fact_set(run, "program.name", program_invocation_short_name,
                          err);
    if (!st)
        st = facts_set_command(run, err);
    if (!st)
        st = facts_set_commit(run, err);
    if (!st)
        st = facts_set_time(run, err);
    if (!st)
        st = run_fact_set(run, "clock.source", ticks_source(), err);
    if (!st)
        st = run_fact_set(run, "assay.version", ASSAY_VERSION, err);
    return st;
}
