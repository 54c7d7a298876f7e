// PrintableStream: the text of a program on its way to standard output or standard error. Whatever was written into it,
// what comes out is printable (printable.h), with line breaks and tabs; what the program itself paints and erases goes
// another way.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace spscope {

class PrintableStream : public std::ostream {
 public:
  // `sink` gets the text, flushes it as before, and outlives this.
  explicit PrintableStream(std::ostream& sink);
  // Writes the beginning of a character whose rest never came. A flush does not: with std::unitbuf there is one after
  // each piece of text, and the rest may be the next.
  ~PrintableStream() override;
  // The codes by which render_terminal() paints pass.
  void let_colors_pass() { buffer_.colors_ = true; }

 private:
  friend void write_sequence(std::ostream& stream, std::string_view sequence);

  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::streambuf& sink) : sink_(sink) {}
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override { return sink_.pubsync(); }

    std::streambuf& sink_;
    bool colors_ = false;
    std::string begun_;  // the beginning of a character or code whose rest has not come
  };
  Buffer buffer_;
};

// What a terminal is told by this program, such as to erase its line: passed on as it is.
void write_sequence(std::ostream& stream, std::string_view sequence);

}  // namespace spscope
