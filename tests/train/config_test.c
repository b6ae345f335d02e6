/* What train/config.h promises. */
#include "train/config.h"

#include "test.h"

TEST(every_default_lies_in_its_range)
{
    struct train_config config = train_config_defaults();

    for (const struct config_key *key = config_keys; key->section; key++) {
        const char *at = (const char *)&config + key->offset;

        if (key->type == CONFIG_INTEGER && !key->automatic)
            CHECK((double)*(const int64_t *)at >= key->min &&
                  (double)*(const int64_t *)at <= key->max);
        if (key->type == CONFIG_NUMBER)
            CHECK(*(const double *)at >= key->min &&
                  *(const double *)at <= key->max);
    }
    train_config_release(&config);
}
