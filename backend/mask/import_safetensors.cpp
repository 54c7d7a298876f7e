// Reads .safetensors: 8 bytes with the length of a JSON header, the header (name -> dtype, shape, data_offsets), and
// the data. Offsets count from the end of the header.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {

namespace {

using Json = nlohmann::json;

struct SafetensorsType {
  std::string_view name;
  ElementType type;
};
constexpr SafetensorsType kSafetensorsTypes[] = {
    {"BOOL", ElementType::kBool}, {"U8", ElementType::kU8},   {"I8", ElementType::kI8},     {"U16", ElementType::kU16},
    {"I16", ElementType::kI16},   {"U32", ElementType::kU32}, {"I32", ElementType::kI32},   {"U64", ElementType::kU64},
    {"I64", ElementType::kI64},   {"F16", ElementType::kF16}, {"BF16", ElementType::kBf16}, {"F32", ElementType::kF32},
    {"F64", ElementType::kF64}};

[[noreturn]] void damaged(const std::string& place, std::string_view what) {
  throw Error(ErrorCode::kMaskFormat, fmt::format("{} is not in .safetensors format: {}", place, what),
              "write it with safetensors.save_file");
}

// The header's text as JSON, and where the data begins.
std::pair<Json, std::int64_t> read_header(InputFile& file, const std::string& path) {
  constexpr std::uint64_t kMaxHeader = 16 << 20;  // 100,000 tensors; parsed JSON takes many times its text
  if (file.num_bytes() < 8) damaged(place_of(path), "it has fewer than 8 bytes");
  std::uint64_t length = 0;
  file.read(std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeader) damaged(place_of(path), fmt::format("its header would have {} bytes", length));
  if (static_cast<std::int64_t>(length) > file.num_bytes() - 8) {
    throw Error(ErrorCode::kMaskTruncated,
                fmt::format("{} has {} bytes, its header alone needs {}", place_of(path), file.num_bytes(), length + 8),
                "copy or save the file again");
  }
  std::string text(length, '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) damaged(place_of(path), "its header is not a JSON object");
  return {std::move(header), static_cast<std::int64_t>(length) + 8};
}

ElementType type_of(const Json& row, const std::string& place) {
  const auto field = row.find("dtype");
  if (field == row.end() || !field->is_string()) damaged(place, "no dtype");
  const std::string& name = field->get_ref<const std::string&>();
  const auto type = std::find_if(std::begin(kSafetensorsTypes), std::end(kSafetensorsTypes),
                                 [&](const SafetensorsType& r) { return r.name == name; });
  if (type == std::end(kSafetensorsTypes)) {
    throw Error(ErrorCode::kMaskDtype, fmt::format("{} has the type {}, which is not read", place, name),
                "use BOOL, an integer type, F16, BF16, F32 or F64");
  }
  return type->type;
}

std::vector<std::int64_t> integers(const Json& row, const char* key, const std::string& place) {
  const auto field = row.find(key);
  if (field == row.end() || !field->is_array()) damaged(place, fmt::format("no {}", key));
  std::vector<std::int64_t> values;
  for (const Json& value : *field) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      damaged(place, fmt::format("{} is not a list of whole numbers", key));
    }
    values.push_back(static_cast<std::int64_t>(value.get<std::uint64_t>()));
  }
  return values;
}

Array read_tensor(InputFile& file, std::int64_t data_begin, const Json& row, const std::string& path,
                  const std::string& name, std::int64_t max_bytes) {
  const std::string place = place_of(path, name);
  if (!row.is_object()) damaged(place, "its entry is not a JSON object");
  Array array{.name = name, .type = type_of(row, place), .shape = integers(row, "shape", place), .bytes = {}};
  const std::int64_t bytes = checked_bytes(place, array.shape, array.type, max_bytes);
  const std::vector<std::int64_t> offsets = integers(row, "data_offsets", place);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] - offsets[0] != bytes) {
    damaged(place, fmt::format("data_offsets do not span the {} bytes of its shape", bytes));
  }
  const std::int64_t data_bytes = file.num_bytes() - data_begin;
  if (offsets[1] > data_bytes) {
    throw Error(ErrorCode::kMaskTruncated,
                fmt::format("{} ends at byte {} of the data, the file has {}", place, offsets[1], data_bytes),
                "copy or save the file again");
  }
  array.bytes.resize(bytes);
  file.seek(data_begin + offsets[0]);
  file.read(array.bytes);
  return array;
}

}  // namespace

std::vector<Array> import_safetensors(const std::string& path, const ReadOptions& options) {
  InputFile file(path);
  const auto [header, data_begin] = read_header(file, path);
  std::vector<std::string> names;
  std::vector<Array> arrays;
  std::int64_t left = options.max_bytes;
  for (const auto& [name, row] : header.items()) {
    if (name == "__metadata__") continue;
    names.push_back(name);
    if (options.names_alone) arrays.push_back({name, ElementType::kU8, {}, {}});
    if (options.names_alone || !is_wanted(options, name)) continue;
    arrays.push_back(read_tensor(file, data_begin, row, path, name, left));
    left -= static_cast<std::int64_t>(arrays.back().bytes.size());
  }
  require_wanted(path, options, names);
  return arrays;
}

}  // namespace spscope
