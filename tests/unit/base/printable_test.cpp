// What a file may hold, against what a terminal may get.
#include "backend/base/printable.h"

#include <gtest/gtest.h>

#include <sstream>

#include "backend/base/error.h"
#include "backend/base/json.h"
#include "backend/base/printable_stream.h"

namespace spscope {
namespace {

TEST(Printable, ReplacesControlCharactersAndKeepsText) {
  EXPECT_EQ(printable("caf\xc3\xa9 \xe4\xb8\xad\nnext"), "caf\xc3\xa9 \xe4\xb8\xad\nnext");
  EXPECT_EQ(printable_line("a\nb"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(printable("\x1b[2J\a\r\x7f\xc2\x9b"), "\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Printable, ReplacesMarksThatTurnTextAndBytesOfNoCharacter) {
  EXPECT_EQ(printable_line("\u202e\u2066\u061c\u2028\x9b\xe2\x80"), "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(printable_line("\u05d0\u2013\u2070\u00a0"), "\u05d0\u2013\u2070\u00a0");  // letters and spaces beside them
  EXPECT_EQ(Json("\u202e\u009b\x7f\x1b\u2013").dump(), "\"\\u202e\\u009b\\u007f\\u001b\u2013\"");
}

// Whatever is written, in pieces of any size: the same comes out, without what is not printable.
TEST(Printable, AStreamLetsThroughWhatTheProgramPaintsAlone) {
  const std::string given = "\033[1mb\303\251\033[0m\t\xe2\x80\xae\033[31;5m\r\n\xc2\x9b\xff.\n";
  for (const bool colors : {false, true})
    for (std::size_t piece = 1; piece <= given.size(); ++piece) {
      std::ostringstream sink;
      PrintableStream stream(sink);
      if (colors) stream.let_colors_pass();
      for (std::size_t i = 0; i < given.size(); i += piece) stream << given.substr(i, piece);
      write_sequence(stream, "\r\033[K");
      const std::string bold = colors ? "\033[1m" : "\ufffd[1m", end = colors ? "\033[0m" : "\ufffd[0m";
      EXPECT_EQ(sink.str(), bold + "b\303\251" + end + "\t\ufffd\ufffd[31;5m\r\n\ufffd\ufffd.\n\r\033[K") << piece;
      EXPECT_TRUE(stream.good());
    }
}

TEST(Printable, AStreamEndsWithWhatItHeldBack) {
  std::ostringstream sink;
  PrintableStream(sink) << "a\xe2\x80" << std::flush;
  EXPECT_EQ(sink.str(), "a\ufffd\ufffd");
}

TEST(Printable, ErrorsFakeNoLine) {
  EXPECT_EQ(render(Problem{ErrorCode::kUsage, "", "a\nerror SPS-999: b", "c\nd", {"e\nf", 0, 0}}),
            "error " + error_id(ErrorCode::kUsage) + ": a\n  error SPS-999: b\n  --> e\n  f\n  c\n  d\n");
}

}  // namespace
}  // namespace spscope
