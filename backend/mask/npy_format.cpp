#include "backend/mask/npy_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

struct NpyType {
  std::string_view descr;
  ElementType type;
};
constexpr NpyType kNpyTypes[] = {{"|b1", ElementType::kBool}, {"|u1", ElementType::kU8},  {"|i1", ElementType::kI8},
                                 {"<u2", ElementType::kU16},  {"<i2", ElementType::kI16}, {"<u4", ElementType::kU32},
                                 {"<i4", ElementType::kI32},  {"<u8", ElementType::kU64}, {"<i8", ElementType::kI64},
                                 {"<f2", ElementType::kF16},  {"<f4", ElementType::kF32}, {"<f8", ElementType::kF64}};

// A cursor over the literals that numpy writes: strings, True, False, integers, tuples.
class Literals {
 public:
  Literals(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kMaskFormat, fmt::format("{} has a damaged .npy header", place_), "save the array again");
  }
  bool accept(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail();
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  std::optional<std::string> string() {
    const char quote = accept('\'') ? '\'' : accept('"') ? '"' : '\0';
    if (quote == '\0') return std::nullopt;
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail();
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail();
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return values;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::int64_t integer() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range) {
      throw Error(ErrorCode::kMaskTooLarge, fmt::format("{} has a dimension above 2^63", place_),
                  "save the array again");
    }
    if (code != std::errc()) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
};

ElementType type_of(const std::string& descr, const std::string& place) {
  auto refuse = [&](std::string_view what, std::string hint) {
    throw Error(ErrorCode::kMaskDtype, fmt::format("{} has {} (\"{}\")", place, what, descr), std::move(hint));
  };
  const auto row =
      std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& r) { return r.descr == descr; });
  if (row != std::end(kNpyTypes)) return row->type;
  if (descr.find('O') != std::string::npos) {
    refuse("an object type", "objects are never unpickled: save numbers with astype(np.uint8) or astype(np.float32)");
  }
  if (!descr.empty() && descr[0] == '>') refuse("a big-endian type", "save it with astype of a \"<\" type");
  refuse("a type that is not read", "use bool, an integer type or a floating-point type");
  return ElementType::kU8;  // not reached
}

}  // namespace

NpyHeader parse_npy_dictionary(std::string_view text, const std::string& place) {
  Literals literals(text, place);
  NpyHeader header;
  bool has_type = false, has_order = false, has_shape = false;
  literals.expect('{');
  while (!literals.accept('}')) {
    const std::optional<std::string> key = literals.string();
    if (!key) literals.fail();
    literals.expect(':');
    if (*key == "descr") {
      const std::optional<std::string> descr = literals.string();
      if (!descr) {
        throw Error(ErrorCode::kMaskDtype, fmt::format("{} has a structured type", place), "save one plain array each");
      }
      header.type = type_of(*descr, place);
      has_type = true;
    } else if (*key == "fortran_order") {
      if (literals.boolean()) {
        throw Error(ErrorCode::kMaskShape, fmt::format("{} is stored column by column (fortran_order)", place),
                    "save np.ascontiguousarray(array)");
      }
      has_order = true;
    } else if (*key == "shape") {
      header.shape = literals.tuple();
      has_shape = true;
    } else {
      literals.fail();
    }
    if (literals.accept(',')) continue;
    literals.expect('}');
    break;
  }
  if (!literals.at_end() || !has_type || !has_order || !has_shape) literals.fail();
  return header;
}

std::string npy_preamble(ElementType type, std::span<const std::int64_t> shape) {
  const auto row =
      std::find_if(std::begin(kNpyTypes), std::end(kNpyTypes), [&](const NpyType& r) { return r.type == type; });
  SPSCOPE_CHECK(row != std::end(kNpyTypes));
  std::string tuple;
  for (std::int64_t extent : shape) tuple += fmt::format("{},", extent);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", row->descr, tuple);
  constexpr std::size_t kFixed = 10;  // magic, version, length
  text.append(63 - (kFixed + text.size()) % 64, ' ');
  text += '\n';
  SPSCOPE_CHECK(text.size() <= 0xffff);
  const char length[2] = {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + std::string(length, 2) + text;
}

namespace {

[[noreturn]] void truncated(const std::string& place, std::int64_t size, std::int64_t needed) {
  throw Error(ErrorCode::kMaskTruncated, fmt::format("{} has {} bytes, its header needs {}", place, size, needed),
              "copy or save the file again");
}

// The text of the header and where the data begins.
std::pair<std::string, std::int64_t> read_header(const std::string& place, std::int64_t size, const ReadExact& read) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::int64_t kMaxHeader = 1 << 20;  // numpy itself refuses more than 10,000 by default
  unsigned char fixed[12] = {};                 // magic, version, and two or four bytes of length
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(fixed));
  read(bytes.first(static_cast<std::size_t>(std::min<std::int64_t>(size, 10))));
  // A file too short for a header: truncated when it begins as a .npy file, else of another format.
  const auto begun = static_cast<std::size_t>(std::min<std::int64_t>(size, 6));
  const bool magic = std::string_view(reinterpret_cast<const char*>(fixed), begun) == kMagic.substr(0, begun);
  if (!magic || (size > 6 && (fixed[6] < 1 || fixed[6] > 3))) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("{} is not in .npy format", place), "write it with numpy.save");
  }
  if (size < 12) truncated(place, size, 12);
  std::int64_t length = fixed[8] | fixed[9] << 8, start = 10;
  if (fixed[6] > 1) {
    read(bytes.subspan(10, 2));
    length |= std::int64_t{fixed[10]} << 16 | std::int64_t{fixed[11]} << 24;
    start = 12;
  }
  if (length > kMaxHeader) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("{} has a header of {} bytes", place, length), "save it again");
  }
  if (start + length > size) truncated(place, size, start + length);
  std::string text(length, '\0');
  read(std::as_writable_bytes(std::span(text)));
  return {std::move(text), start + length};
}

}  // namespace

Array read_npy(const std::string& place, std::int64_t size, const ReadExact& read, std::int64_t max_bytes) {
  const auto [text, start] = read_header(place, size, read);
  NpyHeader header = parse_npy_dictionary(text, place);
  const std::int64_t bytes = checked_bytes(place, header.shape, header.type, max_bytes);
  if (bytes > size - start) truncated(place, size, start + bytes);
  if (bytes < size - start) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("{} has {} bytes after the array", place, size - start - bytes),
                "save one array to a file");
  }
  Array array{.name = {}, .type = header.type, .shape = std::move(header.shape), .bytes = {}};
  array.bytes.resize(bytes);
  read(array.bytes);
  return array;
}

}  // namespace spscope
