// Element types, choice of a reader by the file's ending, and conversion of values.
#include "backend/mask/array_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "backend/base/dtype.h"
#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {

static_assert(std::endian::native == std::endian::little, "array files are little-endian and copied as they are");

#define MASK_IMPORTER(name, summary) \
  std::vector<Array> import_##name(const std::string& path, const ReadOptions& options);
#include "backend/mask/mask_importers.def"
#undef MASK_IMPORTER

std::span<const MaskImporter> mask_importers() {
  static constexpr MaskImporter table[] = {
#define MASK_IMPORTER(name, summary) {#name, summary, import_##name},
#include "backend/mask/mask_importers.def"
#undef MASK_IMPORTER
  };
  return table;
}

int element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kU8:
    case ElementType::kI8:
      return 1;
    case ElementType::kU16:
    case ElementType::kI16:
    case ElementType::kF16:
    case ElementType::kBf16:
      return 2;
    case ElementType::kU32:
    case ElementType::kI32:
    case ElementType::kF32:
      return 4;
    case ElementType::kU64:
    case ElementType::kI64:
    case ElementType::kF64:
      return 8;
  }
  return 0;
}

std::string_view element_name(ElementType type) {
  static constexpr std::string_view names[] = {"bool",   "uint8", "int8",    "uint16",   "int16",   "uint32", "int32",
                                               "uint64", "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(type)];
}

std::vector<Array> read_arrays(const std::string& path, const ReadOptions& options) {
  const std::string ending = std::filesystem::path(path).extension().string();
  std::string known;
  for (const MaskImporter& importer : mask_importers()) {
    if (ending == fmt::format(".{}", importer.name)) return importer.read(path, options);
    known += fmt::format("{}.{}", known.empty() ? "" : ", ", importer.name);
  }
  throw Error(ErrorCode::kMaskFormat, fmt::format("{} does not end in a known format", place_of(path)),
              fmt::format("known are {}", known));
}

namespace {

template <typename T>
T element(const Array& array, std::int64_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// IEEE half precision: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float half_to_float(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction != 0 ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

[[noreturn]] void wrong_type(const Array& array, const std::string& path, const char* wanted) {
  throw Error(
      ErrorCode::kMaskDtype,
      fmt::format("{} has the type {}, {} is needed", place_of(path, array.name), element_name(array.type), wanted),
      fmt::format("convert it with astype() before saving"));
}

float float_at(const Array& array, std::int64_t i, const std::string& path) {
  switch (array.type) {
    case ElementType::kF16:
      return half_to_float(element<std::uint16_t>(array, i));
    case ElementType::kBf16:
      return to_float(Bf16{element<std::uint16_t>(array, i)});
    case ElementType::kF32:
      return element<float>(array, i);
    case ElementType::kF64:
      return static_cast<float>(element<double>(array, i));
    default:
      wrong_type(array, path, "a floating-point type");
  }
}

std::int64_t integer_at(const Array& array, std::int64_t i, const std::string& path) {
  switch (array.type) {
    case ElementType::kBool:
    case ElementType::kU8:
      return element<std::uint8_t>(array, i);
    case ElementType::kI8:
      return element<std::int8_t>(array, i);
    case ElementType::kU16:
      return element<std::uint16_t>(array, i);
    case ElementType::kI16:
      return element<std::int16_t>(array, i);
    case ElementType::kU32:
      return element<std::uint32_t>(array, i);
    case ElementType::kI32:
      return element<std::int32_t>(array, i);
    case ElementType::kU64:
      return static_cast<std::int64_t>(element<std::uint64_t>(array, i));
    case ElementType::kI64:
      return element<std::int64_t>(array, i);
    default:
      wrong_type(array, path, "bool or an integer type");
  }
}

}  // namespace

std::vector<float> to_floats(const Array& array, const std::string& path) {
  return to_floats(array, path, 0, array.num_elements());
}

std::vector<float> to_floats(const Array& array, const std::string& path, std::int64_t first, std::int64_t count) {
  std::vector<float> values(count);
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = float_at(array, first + i, path);
    if (!std::isfinite(values[i])) {
      throw Error(ErrorCode::kMaskValue,
                  fmt::format("{} holds {} at element {}", place_of(path, array.name), values[i], first + i),
                  "dump activations of a run without overflow");
    }
  }
  return values;
}

double float_of(const Array& array, std::int64_t index, const std::string& path) {
  return float_at(array, index, path);
}

std::int64_t integer_of(const Array& array, std::int64_t index, const std::string& path) {
  return integer_at(array, index, path);
}

std::vector<std::int64_t> to_integers(const Array& array, const std::string& path) {
  std::vector<std::int64_t> values(array.num_elements());
  for (std::int64_t i = 0; i < array.num_elements(); ++i) values[i] = integer_at(array, i, path);
  return values;
}

}  // namespace spscope
