/* What texts end with. */
#include "base/str.h"

#include "test.h"

TEST(an_ending_is_found_at_the_end_and_nowhere_else)
{
    CHECK(str_ends_with("a.onnx", ".onnx"));
    CHECK(str_ends_with(".onnx", ".onnx"));
    CHECK(str_ends_with("a", ""));
    CHECK(!str_ends_with("a.onnx.txt", ".onnx"));
    CHECK(!str_ends_with("a.ONNX", ".onnx"));
    CHECK(!str_ends_with("nnx", ".onnx"));
}

TEST(an_ending_of_bytes_ends_where_they_do)
{
    CHECK(str_ends_with_n("data.pklx", 8, "data.pkl"));
    CHECK(!str_ends_with_n("data.pklx", 9, "data.pkl"));
    CHECK(!str_ends_with_n("data.pkl", 7, "data.pkl"));
}
