/* tests/predict/campaign_case.c - see campaign_case.h. */
#include "campaign_case.h"

#include "test.h"

#include <stdio.h>

void case_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    fputs(text, file);
    CHECK_INT(fclose(file), 0);
}

void case_read(const char *name, const char *text,
               struct campaign_config *config)
{
    struct error err = {0};

    *config = (struct campaign_config){0};
    case_write(test_path(name), text);
    CHECK_STATUS(campaign_config_read(config, test_path(name), &err), ASSAY_OK,
                 &err);
}
