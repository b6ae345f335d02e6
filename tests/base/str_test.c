/* Whether a text ends in another. */
#include "base/str.h"

#include "test.h"

TEST(an_ending_is_found_only_at_the_end)
{
    CHECK(str_ends_with("a.onnx", ".onnx"));
    CHECK(str_ends_with(".onnx", ".onnx"));
    CHECK(str_ends_with("a", ""));
    CHECK(!str_ends_with("a.onnx.txt", ".onnx"));
    CHECK(!str_ends_with("a.ONNX", ".onnx"));
    CHECK(!str_ends_with("nnx", ".onnx"));
}

TEST(an_ending_of_n_bytes_stops_at_n)
{
    CHECK(str_ends_with_n("data.pklx", 8, "data.pkl"));
    CHECK(!str_ends_with_n("data.pklx", 9, "data.pkl"));
    CHECK(!str_ends_with_n("data.pkl", 7, "data.pkl"));
}
