// What a file may hold, against what a terminal may get.
#include "backend/base/printable.h"

#include <gtest/gtest.h>

#include "backend/base/error.h"

namespace spscope {
namespace {

TEST(Printable, ReplacesControlCharactersAndKeepsText) {
  EXPECT_EQ(printable("caf\xc3\xa9 \xe4\xb8\xad\nnext"), "caf\xc3\xa9 \xe4\xb8\xad\nnext");
  EXPECT_EQ(printable_line("a\nb"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(printable("\x1b[2J\a\r\x7f\xc2\x9b"), "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Printable, ErrorsCarryNoEscapeSequences) {
  const Problem problem = {ErrorCode::kInternal,
                           "a\x1b"
                           "c",
                           "b\x1b[31m",
                           "d\r\n",
                           {"e\x1b", 1, 2}};
  const std::string text = render(problem);
  EXPECT_EQ(text.find_first_of("\x1b\r"), std::string::npos) << text;
  EXPECT_EQ(render(Error(std::vector<Problem>{problem})).find_first_of("\x1b\r"), std::string::npos);
}

}  // namespace
}  // namespace spscope
