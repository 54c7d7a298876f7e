#include "backend/base/printable_stream.h"

#include <algorithm>
#include <array>

#include "backend/base/printable.h"

namespace spscope {
namespace {

// Bold, faint, red, yellow, and the end of each: what render_terminal() paints with.
constexpr std::array<std::string_view, 5> kColors = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[33m"};

// How long the code of a colour is with which the text begins; 0: it begins with none.
std::size_t color_bytes(std::string_view text) {
  const auto found = std::ranges::find_if(kColors, [&](std::string_view color) { return text.starts_with(color); });
  return found == kColors.end() ? 0 : found->size();
}

// Bytes at the end that may be the beginning of a character, of a line break or of the code of a colour.
std::size_t begun_bytes(std::string_view text) {
  constexpr std::size_t kMost = 4;  // of a code without its last byte
  for (std::size_t n = 1; n <= std::min(kMost, text.size()); ++n) {
    const std::string_view end = text.substr(text.size() - n);
    const auto c = static_cast<unsigned char>(end.front());
    const bool goes_on = std::ranges::all_of(end.substr(1), [](char next) { return (next & 0xc0) == 0x80; });
    const std::size_t whole = c < 0xc2 || c > 0xf4 || !goes_on ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    const bool of_color = std::ranges::any_of(
        kColors, [&](std::string_view color) { return color.size() > n && color.starts_with(end); });
    if (whole > n || of_color || (n == 1 && c == '\r')) return n;
  }
  return 0;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; });
}

// The text with its tabs, its line breaks of both kinds and, where they pass, its colours.
std::string passing(std::string_view text, bool colors) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t stop = std::min(text.find_first_of("\t\r\033"), text.size());
    clean += printable(text.substr(0, stop));
    text.remove_prefix(stop);
    const std::size_t kept = text.starts_with('\t') ? 1 : text.starts_with("\r\n") ? 2 : colors ? color_bytes(text) : 0;
    clean += kept > 0 ? std::string(text.substr(0, kept)) : printable(text.substr(0, 1));
    text.remove_prefix(std::min(text.size(), std::max<std::size_t>(kept, 1)));
  }
  return clean;
}

}  // namespace

PrintableStream::PrintableStream(std::ostream& sink) : std::ostream(nullptr), buffer_(*sink.rdbuf()) {
  rdbuf(&buffer_);
  setf(sink.flags() & std::ios_base::unitbuf);
  tie(sink.tie());
}

PrintableStream::~PrintableStream() {
  const std::string rest = passing(buffer_.begun_, false);
  buffer_.sink_.sputn(rest.data(), static_cast<std::streamsize>(rest.size()));
}

PrintableStream::Buffer::int_type PrintableStream::Buffer::overflow(int_type c) {
  const char text = traits_type::to_char_type(c);
  return traits_type::eq_int_type(c, traits_type::eof()) || xsputn(&text, 1) == 1 ? traits_type::not_eof(c)
                                                                                  : traits_type::eof();
}

std::streamsize PrintableStream::Buffer::xsputn(const char* text, std::streamsize size) {
  const std::string_view given(text, static_cast<std::size_t>(size));
  if (begun_.empty() && is_plain(given)) return sink_.sputn(text, size);
  begun_ += given;
  const std::size_t whole = begun_.size() - begun_bytes(begun_);
  const std::string clean = passing(std::string_view(begun_).substr(0, whole), colors_);
  begun_.erase(0, whole);
  return sink_.sputn(clean.data(), static_cast<std::streamsize>(clean.size())) == std::ssize(clean) ? size : 0;
}

void write_sequence(std::ostream& stream, std::string_view sequence) {
  auto* const filter = dynamic_cast<PrintableStream*>(&stream);
  std::streambuf* const sink = filter != nullptr ? &filter->buffer_.sink_ : stream.rdbuf();
  sink->sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
}

}  // namespace spscope
