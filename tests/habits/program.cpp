/* A program in C++ that install_test.sh compiles: an exception ends the open
 * span, so that the next span is not inside it. */
#include <assay.h>

#include <stdexcept>

static void thrower()
{
    ASSAY_SPAN("thrower");
    throw std::runtime_error("out of here");
}

int main()
{
    if (assay_start("program.assay", nullptr, nullptr))
        return 1;
    for (int i = 0; i < 20; i++) {
        assay_iteration_begin();
        try {
            thrower();
        } catch (const std::runtime_error &) {
            ASSAY_SPAN("after");
        }
        assay_iteration_end();
    }
    return assay_stop(nullptr);
}
