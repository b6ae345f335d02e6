/* examples/hello.cpp - spans in C++: they end when the block is left. */
#include <assay.h>

#include <cstdio>
#include <string>

static std::string greet(const char *whom)
{
    ASSAY_SPAN("greet");
    return std::string("hello, ") + whom;
}

int main()
{
    assay_error error{};

    if (assay_start("hello.assay", nullptr, &error) != ASSAY_OK) {
        std::fprintf(stderr, "hello: %s\n", error.text);
        return 3;
    }
    for (int i = 0; i < 10; i++) {
        assay_iteration_begin();
        std::puts(greet("world").c_str());
        assay_iteration_end();
    }
    return assay_stop(&error) == ASSAY_OK ? 0 : 3;
}
