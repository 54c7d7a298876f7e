#include "backend/job/check_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "backend/base/error.h"
#include "backend/base/json.h"
#include "backend/base/rng.h"
#include "backend/config/text_file.h"
#include "backend/execute/reference/reference.h"
#include "backend/mask/array_file.h"
#include "backend/mask/array_parts.h"
#include "backend/mask/mask_import.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

// Multiply-adds that a sample may take, some seconds.
constexpr double kSampleWork = 3e9;
// Places of a sample are equally far apart in as many groups, so that parts of a sequence that were exchanged meet.
constexpr std::int64_t kSampleParts = 8;

[[noreturn]] void refuse_files(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kActivations, what, hint);
}

// What layer.json says, or what the arrays show.
struct ArrayShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, tokens = 0, head_dim = 1;
  std::int64_t outer = 1, inner = 0;  // tokens = outer x inner
  std::int64_t text = 0;
  bool text_first = false;
};

// How far numbers of an array are apart, in elements; the numbers of a row are neighbours.
struct Steps {
  std::int64_t batch = 0, head = 0, token = 0;
};

// How an array of this shape holds [batch, heads, tokens, head_dim]; nullopt: it does not.
std::optional<Steps> steps_of(std::vector<std::int64_t> shape, std::int64_t batch, std::int64_t heads,
                              std::int64_t tokens, std::int64_t head_dim) {
  const bool has_batch =
      shape.size() == 4 ? shape.front() == batch : shape == std::vector{batch, tokens, heads * head_dim};
  if (has_batch) shape.erase(shape.begin());
  if (batch > 1 && !has_batch) return std::nullopt;
  if (shape == std::vector{heads, tokens, head_dim})
    return Steps{heads * tokens * head_dim, tokens * head_dim, head_dim};
  if (shape == std::vector{tokens, heads, head_dim} || shape == std::vector{tokens, heads * head_dim})
    return Steps{heads * tokens * head_dim, head_dim, heads * head_dim};
  return std::nullopt;
}

struct StoredArray {
  std::string file;
  Array array;
  std::vector<float> numbers = {};  // of q, k and v
  Steps steps = {};
};

StoredArray read_stored_array(const fs::path& folder, const std::string& file, std::int64_t max_bytes) {
  const std::string path = (folder / file).string();
  if (!fs::exists(path))
    refuse_files(fmt::format("there is no {} in {}", file, folder.string()),
                 "save q, k and v as they enter attention, and each output as o-NAME.npy: docs/check.md has the lines");
  std::vector<Array> arrays = read_arrays(path, {.max_bytes = max_bytes});
  return {file, std::move(arrays.front())};
}

// Without layer.json: of heads and tokens the larger is tokens.
ArrayShape shape_of_q(const StoredArray& q) {
  std::vector<std::int64_t> s = q.array.shape;
  if (s.size() == 4) s.erase(s.begin());
  if (s.size() != 3)
    refuse_files(fmt::format("{} is {}: it has {} dimensions", q.file, shape_text(q.array.shape), q.array.shape.size()),
                 "save [heads, tokens, head_dim] or [tokens, heads, head_dim], with a batch in front or not");
  return {.batch = q.array.shape.size() == 4 ? q.array.shape.front() : 1,
          .heads = std::min(s[0], s[1]),
          .tokens = std::max(s[0], s[1]),
          .head_dim = s[2],
          .inner = std::max(s[0], s[1])};
}

std::optional<ArrayShape> shape_of_json(const fs::path& folder) {
  constexpr std::int64_t kMostBytes = 1 << 16;
  const fs::path path = folder / "layer.json";
  if (!fs::exists(path)) return std::nullopt;
  const Result<std::string> text = read_text_file(path.string(), kMostBytes);
  const std::optional<Json> json = text ? Json::parse(*text) : std::nullopt;
  const auto number = [&](const char* key) -> std::int64_t {
    const Json* value = json ? json->find(key) : nullptr;
    constexpr double kMost = 1 << 30;
    if (value == nullptr || !value->is_number() || value->number() < 0 || value->number() > kMost)
      refuse_files(fmt::format("{} has no number \"{}\" from 0 to {:g}", path.string(), key, kMost),
                   "remove it: shapes then follow from q.npy, and --text-tokens says where the text is");
    return static_cast<std::int64_t>(value->number());
  };
  ArrayShape shape{.batch = number("batch"),
                   .heads = number("heads"),
                   .tokens = number("outer_tokens") * number("inner_tokens"),
                   .head_dim = number("head_dim"),
                   .outer = number("outer_tokens"),
                   .inner = number("inner_tokens"),
                   .text = number("text_tokens")};
  const Json* first = json->find("text_first");
  shape.text_first = first != nullptr && first->dump() == "true";
  return shape;
}

void find_rows(StoredArray& tensor, const ArrayShape& shape, std::int64_t heads) {
  const auto steps = steps_of(tensor.array.shape, shape.batch, heads, shape.tokens, shape.head_dim);
  const std::string batch = shape.batch > 1 ? fmt::format("{}, ", shape.batch) : "";
  if (!steps)
    refuse_files(
        fmt::format("{} is {}, and q.npy has {} heads of {} tokens with head_dim {}", tensor.file,
                    shape_text(tensor.array.shape), shape.heads, shape.tokens, shape.head_dim),
        fmt::format("save it as [{0}{1}, {2}, {3}] or [{0}{2}, {1}, {3}], all heads and tokens of one sample together",
                    batch, heads, shape.tokens, shape.head_dim));
  tensor.steps = *steps;
}

std::int64_t kv_heads_of(const StoredArray& k, const ArrayShape& shape) {
  for (std::int64_t heads = shape.heads; heads > 0; --heads)
    if (shape.heads % heads == 0 &&
        steps_of(k.array.shape, shape.batch, heads, shape.tokens, shape.head_dim).has_value())
      return heads;
  return shape.heads;
}

// One attention: its inputs, and how its sequences lie in them.
struct CheckInputs {
  ArrayShape shape = {};
  bool temporal = false;  // along the outer axis
  StoredArray q = {}, k = {}, v = {};
  BlockMask mask = {};

  std::int32_t tokens() const { return static_cast<std::int32_t>(temporal ? shape.outer : shape.inner); }
  std::int32_t sequences() const {
    return static_cast<std::int32_t>(shape.batch * (temporal ? shape.inner : shape.outer));
  }
  std::int64_t token_step() const { return temporal ? shape.inner : 1; }
  // The first number of a token of a sequence.
  std::int64_t offset(const StoredArray& of, std::int32_t sequence, std::int64_t head, std::int64_t token) const {
    const std::int64_t others = temporal ? shape.inner : shape.outer, entry = sequence / others,
                       other = sequence % others, first = temporal ? other : other * shape.inner;
    return entry * of.steps.batch + head * of.steps.head + (first + token * token_step()) * of.steps.token;
  }
  HeadRows rows(std::int32_t sequence, int head) const {
    const std::int64_t shared = head * shape.kv_heads / shape.heads;
    return {.q = q.numbers.data() + offset(q, sequence, head, 0),
            .k = k.numbers.data() + offset(k, sequence, shared, 0),
            .v = v.numbers.data() + offset(v, sequence, shared, 0),
            .q_stride = token_step() * q.steps.token,
            .k_stride = token_step() * k.steps.token,
            .v_stride = token_step() * v.steps.token,
            .head_dim = static_cast<int>(shape.head_dim),
            .head = head,
            .mask = &mask};
  }
};

// Those of the second attention, which stand in a file that masks elsewhere do not have.
std::vector<std::int32_t> borders_beside(const fs::path& folder, const CheckInputs& inputs,
                                         const CheckRequest& request) {
  const fs::path path = folder / fmt::format("block_starts{}.npy", inputs.temporal ? "_temporal" : "");
  if (!fs::exists(path))
    refuse_files(fmt::format("the mask in {} has no block borders", folder.string()),
                 "--block is the tokens of its blocks, 1 for a mask of single tokens");
  const std::vector<Array> arrays = read_arrays(path.string(), {.max_bytes = request.max_bytes});
  std::vector<std::int32_t> starts;
  for (const std::int64_t start : to_integers(arrays.front(), path.string())) {
    const bool inside = start >= 0 && start <= inputs.tokens();
    const std::int64_t after = !inside ? 0 : starts.empty() ? start + 1 : start - starts.back();
    if (after < 1 || after > kMaxBlockTokens || (starts.empty() && start != 0))
      refuse_files(fmt::format("{} does not go from 0 to {} in blocks of 1 to {} tokens", path.string(),
                               inputs.tokens(), kMaxBlockTokens),
                   "write the first token of each block, and the number of tokens at the end");
    starts.push_back(static_cast<std::int32_t>(start));
  }
  if (starts.size() < 2 || starts.back() != inputs.tokens())
    refuse_files(
        fmt::format("{} ends at {} of {} tokens", path.string(), starts.empty() ? 0 : starts.back(), inputs.tokens()),
        "write the first token of each block, and the number of tokens at the end");
  return starts;
}

BlockMask mask_beside(const fs::path& folder, const CheckInputs& inputs, const CheckRequest& request) {
  const fs::path path = folder / fmt::format("mask{}.npy", inputs.temporal ? "_temporal" : "");
  const auto heads = static_cast<int>(inputs.shape.heads);
  constexpr int kAnyBlock = 256;
  if (!fs::exists(path)) {
    BlockMask dense(heads, BlockMask::uniform_starts(inputs.tokens(), kAnyBlock));
    for (int h = 0; h < heads; ++h)
      for (std::int32_t q = 0; q < dense.blocks(); ++q)
        for (std::int32_t k = 0; k < dense.blocks(); ++k) dense.set(h, q, k);
    return dense;
  }
  const MaskFile file(
      path.string(),
      {.tokens = inputs.tokens(), .block = request.block, .user = MaskUser::kFlags, .max_bytes = request.max_bytes});
  if (request.block == 0 && !file.block_starts().empty()) {
    file.require_tokens(inputs.tokens());
    return file.mask(0, 0, file.block_starts(), heads);
  }
  if (request.block == 0) return file.mask(0, 0, borders_beside(folder, inputs, request), heads);
  return file.mask(0, 0, BlockMask::uniform_starts(inputs.tokens(), request.block), heads);
}

CheckInputs read_check_inputs(const fs::path& folder, const std::string& suffix, const CheckRequest& request) {
  CheckInputs inputs{.temporal = suffix.starts_with("_temporal")};
  StoredArray* const tensors[] = {&inputs.q, &inputs.k, &inputs.v};
  for (int t = 0; t < 3; ++t)
    *tensors[t] = read_stored_array(folder, fmt::format("{}{}.npy", "qkv"[t], suffix), request.max_bytes);
  const std::optional<ArrayShape> stated = shape_of_json(folder);
  inputs.shape = stated ? *stated : shape_of_q(inputs.q);
  if (request.text_tokens >= 0) {
    inputs.shape.text = request.text_tokens;
    inputs.shape.text_first = request.text_first;
  }
  constexpr std::int64_t kMostTokens = 1 << 30;
  if (inputs.shape.tokens < 1 || inputs.shape.tokens > kMostTokens || inputs.shape.heads < 1 ||
      inputs.shape.head_dim < 1 || inputs.shape.batch < 1 || inputs.shape.text > inputs.shape.inner)
    refuse_files(
        fmt::format("{} holds no attention: {} heads, {} tokens of which {} are text, head_dim {}", inputs.q.file,
                    inputs.shape.heads, inputs.shape.tokens, inputs.shape.text, inputs.shape.head_dim),
        "save q, k and v as they enter attention");
  inputs.shape.kv_heads = kv_heads_of(inputs.k, inputs.shape);
  for (StoredArray* tensor : tensors) {
    find_rows(*tensor, inputs.shape, tensor == &inputs.q ? inputs.shape.heads : inputs.shape.kv_heads);
    tensor->numbers = to_floats(tensor->array, (folder / tensor->file).string());
    tensor->array = {};
  }
  inputs.mask = mask_beside(folder, inputs, request);
  return inputs;
}

std::vector<RowPlace> choose_places(const CheckInputs& inputs, bool all) {
  const std::int64_t tokens = inputs.tokens(), every = inputs.sequences() * tokens;
  const double work = 3.0 * static_cast<double>(inputs.shape.heads * tokens * inputs.shape.head_dim);
  const std::int64_t wanted = std::max<std::int64_t>(kSampleParts, static_cast<std::int64_t>(kSampleWork / work));
  std::vector<RowPlace> places;
  if (all || wanted >= every) {
    for (std::int32_t s = 0; s < inputs.sequences(); ++s)
      for (std::int32_t t = 0; t < tokens; ++t) places.push_back({s, t});
    return places;
  }
  Rng rng(1);
  std::set<std::pair<std::int32_t, std::int32_t>> chosen;
  for (std::int64_t i = 0; i < wanted / kSampleParts; ++i) {
    const auto sequence = static_cast<std::int32_t>(rng.below(inputs.sequences()));
    const std::int64_t first = rng.below(std::max<std::int64_t>(1, tokens / kSampleParts));
    for (std::int64_t part = 0; part < kSampleParts; ++part)
      chosen.insert({sequence, static_cast<std::int32_t>((first + tokens * part / kSampleParts) % tokens)});
  }
  for (const auto& [sequence, token] : chosen) places.push_back({sequence, token});
  return places;
}

// The right rows at all heads of the places, and what decides how far each may be off.
struct RightRows {
  ComparedRows rows;
  std::vector<double> products = {}, cancellation = {};
  std::int64_t keys = 0;  // of a row, at most
};

RightRows right_rows(const CheckInputs& inputs, std::vector<RowPlace> places) {
  const auto heads = static_cast<std::size_t>(inputs.shape.heads),
             dim = static_cast<std::size_t>(inputs.shape.head_dim);
  RightRows right{.rows = {.places = std::move(places)}};
  const std::size_t count = right.rows.places.size() * heads;
  right.rows.right.resize(count * dim);
  right.products.resize(count);
  right.cancellation.resize(count);
  right.keys = inputs.shape.tokens / inputs.shape.outer;
  constexpr std::size_t kTogether = 64;
  for (std::size_t first = 0; first < right.rows.places.size();) {
    const std::int32_t sequence = right.rows.places[first].sequence;
    std::vector<std::int32_t> tokens;
    for (std::size_t p = first; p < right.rows.places.size() && tokens.size() < kTogether; ++p) {
      if (right.rows.places[p].sequence != sequence) break;
      tokens.push_back(right.rows.places[p].token);
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const kernels::ReferenceRows made = attention_rows(inputs.rows(sequence, static_cast<int>(h)), tokens);
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        const std::size_t row = (first + t) * heads + h;
        std::copy_n(made.out.begin() + static_cast<std::ptrdiff_t>(t * dim), dim,
                    right.rows.right.begin() + static_cast<std::ptrdiff_t>(row * dim));
        right.products[row] = made.largest_products[t];
        right.cancellation[row] = made.cancellation[t];
      }
    }
    first += tokens.size();
  }
  double squares = 0;
  for (const double x : right.rows.right) squares += x * x;
  right.rows.least_square = kSmallestShareOfMean * squares / static_cast<double>(count);
  return right;
}

bool is_bf16(double x) { return std::isnan(x) || to_float(to_bf16(static_cast<float>(x))) == x; }
// 11 significant bits, the least of them 2^-24.
bool is_fp16(double x) {
  if (!std::isfinite(x) || x == 0) return true;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x) - 10, -24));
  return std::abs(x) <= 65504 && std::remainder(x, unit) == 0;
}

OutputType output_type_of(const CheckRequest& request, const std::vector<double>& found) {
  for (const OutputType type : {OutputType::kFp32, OutputType::kFp16, OutputType::kBf16})
    if (request.dtype == output_type_name(type)) return type;
  if (std::ranges::all_of(found, is_bf16)) return OutputType::kBf16;
  return std::ranges::all_of(found, is_fp16) ? OutputType::kFp16 : OutputType::kFp32;
}

// As attention_tolerance() of reference.h. fp16: rounding an output to 11 significant bits is off by at most 2^-22 of
// its square, and a kernel's weights by 2^-24 / 3 in the mean square.
double row_limit(OutputType type, int head_dim, std::int64_t keys, double products, double cancellation) {
  const auto fp32 = attention_tolerance(Dtype::kFp32, head_dim, keys, products, cancellation);
  if (!fp32) return std::numeric_limits<double>::infinity();
  if (type == OutputType::kBf16) return *attention_tolerance(Dtype::kBf16, head_dim, keys, products, cancellation);
  constexpr double kRoundedWeight = 0x1p-24 / 3, kTail = 16;
  return *fp32 + (type == OutputType::kFp16 ? output_tolerance(type) + kTail * kRoundedWeight * cancellation : 0);
}

void set_row_limits(RightRows& right, OutputType type, int head_dim) {
  right.rows.limits.clear();
  for (std::size_t row = 0; row < right.products.size(); ++row)
    right.rows.limits.push_back(row_limit(type, head_dim, right.keys, right.products[row], right.cancellation[row]));
}

bool all_rows_pass(RightRows& right, OutputType type, int head_dim) {
  set_row_limits(right, type, head_dim);
  for (std::size_t row = 0; row < right.products.size(); ++row)
    if (right.rows.off(row)) return false;
  return true;
}

CheckedOutput check_one(const CheckInputs& inputs, const StoredArray& output, RightRows& right,
                        const CheckRequest& request, const std::string& folder) {
  const auto heads = static_cast<std::size_t>(inputs.shape.heads),
             dim = static_cast<std::size_t>(inputs.shape.head_dim);
  ComparedRows& rows = right.rows;
  CheckedOutput checked;
  rows.found.clear();
  rows.errors.clear();
  for (const RowPlace& place : rows.places)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::int64_t at = inputs.offset(output, place.sequence, static_cast<std::int64_t>(h), place.token);
      for (std::size_t i = 0; i < dim; ++i)
        rows.found.push_back(float_of(output.array, at + static_cast<std::int64_t>(i), folder + "/" + output.file));
      rows.errors.push_back(row_error(std::span(rows.found).last(dim),
                                      std::span(rows.right).subspan(rows.found.size() - dim, dim), rows.least_square));
    }
  checked.type = output_type_of(request, rows.found);
  set_row_limits(right, checked.type, static_cast<int>(dim));
  std::set<std::int64_t> heads_off, tokens_off;
  double worst = -1;
  checked.rows = static_cast<std::int64_t>(rows.errors.size());
  for (std::size_t row = 0; row < rows.errors.size(); ++row) {
    const RowPlace& place = rows.places[row / heads];
    checked.rows_unjudged += std::isinf(rows.limits[row]) && std::isfinite(rows.errors[row]);
    if (rows.off(row)) {
      ++checked.rows_off;
      heads_off.insert(static_cast<std::int64_t>(row % heads));
      tokens_off.insert(place.token);
    }
    if (std::isinf(rows.limits[row])) continue;
    checked.max_error = std::max(checked.max_error, rows.errors[row]);
    if (!(rows.errors[row] / rows.limits[row] > worst)) continue;
    worst = rows.errors[row] / rows.limits[row];
    checked.largest_error = rows.errors[row];
    checked.allowed = rows.limits[row];
    checked.worst = place;
    checked.worst_head = static_cast<int>(row % heads);
  }
  checked.heads_off.assign(heads_off.begin(), heads_off.end());
  checked.tokens_off.assign(tokens_off.begin(), tokens_off.end());
  if (checked.rows_off == 0) return checked;
  const auto text = static_cast<std::int32_t>(inputs.temporal ? 0 : inputs.shape.text), tokens = inputs.tokens();
  RightAttention attention{.head_rows = [&](std::int32_t s, int h) { return inputs.rows(s, h); },
                           .heads = static_cast<int>(heads),
                           .head_dim = static_cast<int>(dim),
                           .tokens = tokens,
                           .text = inputs.shape.text_first ? Span{0, text} : Span{tokens - text, tokens},
                           .parts = request.parts};
  if (attention.parts.empty()) attention.parts = {2, 3, 4, 5, 6, 7, 8, 16};
  const auto left_zero = [&](std::int32_t token, std::int32_t head) {
    for (std::int32_t sequence = 0; sequence < inputs.sequences(); ++sequence) {
      const std::int64_t at = inputs.offset(output, sequence, head, token);
      for (std::size_t i = 0; i < dim; ++i)
        if (float_of(output.array, at + static_cast<std::int64_t>(i), output.file) != 0) return false;
    }
    return true;
  };
  checked.faults = known_faults(attention, rows, left_zero);
  checked.passes_as_fp16 =
      checked.type == OutputType::kFp32 && all_rows_pass(right, OutputType::kFp16, attention.head_dim);
  checked.passes_as_bf16 =
      checked.type != OutputType::kBf16 && all_rows_pass(right, OutputType::kBf16, attention.head_dim);
  return checked;
}

// "_temporal-pass-1" of "q_temporal-pass-1.npy"; nullopt: the file is no q.
std::optional<std::string> attention_suffix(const fs::path& file) {
  const std::string stem = file.stem().string();
  if (file.extension() != ".npy" || !stem.starts_with("q")) return std::nullopt;
  const std::string suffix = stem.substr(1);
  if (suffix.empty() || suffix.starts_with("_temporal") || suffix.starts_with("-pass-")) return suffix;
  return std::nullopt;
}

CheckedAttention check_attention(const fs::path& folder, const std::string& suffix,
                                 const std::vector<std::string>& names, const CheckRequest& request) {
  const CheckInputs inputs = read_check_inputs(folder, suffix, request);
  RightRows right = right_rows(inputs, choose_places(inputs, request.all_rows));
  CheckedAttention checked{.folder = folder.string(),
                           .suffix = suffix,
                           .heads = static_cast<int>(inputs.shape.heads),
                           .kv_heads = static_cast<int>(inputs.shape.kv_heads),
                           .head_dim = static_cast<int>(inputs.shape.head_dim),
                           .sequences = inputs.sequences(),
                           .tokens = inputs.tokens(),
                           .places = static_cast<std::int64_t>(right.rows.places.size()),
                           .density = inputs.mask.density()};
  std::set<std::int64_t> tokens;
  for (const RowPlace& place : right.rows.places) tokens.insert(place.token);
  checked.tokens_compared.assign(tokens.begin(), tokens.end());
  for (const std::string& name : names) {
    StoredArray output = read_stored_array(folder, fmt::format("o-{}{}.npy", name, suffix), request.max_bytes);
    find_rows(output, inputs.shape, inputs.shape.heads);
    checked.outputs.push_back(check_one(inputs, output, right, request, folder.string()));
    checked.outputs.back().name = name;
  }
  return checked;
}

}  // namespace

std::string_view output_type_name(OutputType type) {
  return type == OutputType::kFp32 ? "fp32" : type == OutputType::kFp16 ? "fp16" : "bf16";
}

double output_tolerance(OutputType type) {
  constexpr double kFp16 = 8e-7;
  if (type == OutputType::kFp16) return kFp16;
  return *attention_tolerance(type == OutputType::kFp32 ? Dtype::kFp32 : Dtype::kBf16, 1, 0, 0, 0);
}

bool CheckedAttention::passed() const {
  return std::ranges::all_of(outputs,
                             [](const CheckedOutput& o) { return o.rows_off == 0 && o.rows_unjudged < o.rows; });
}

std::vector<CheckedAttention> check_outputs(const CheckRequest& request) {
  std::error_code failed;
  if (!fs::is_directory(request.folder, failed))
    refuse_files(fmt::format("{} is not a folder", request.folder),
                 "give the folder that spscope run --dump wrote, or one with q.npy, k.npy, v.npy and o-NAME.npy");
  std::map<fs::path, std::vector<std::string>> suffixes;  // of the folders with a q
  bool whole_layers = false;
  for (const auto& entry :
       fs::recursive_directory_iterator(request.folder, fs::directory_options::skip_permission_denied)) {
    if (const auto suffix = attention_suffix(entry.path())) suffixes[entry.path().parent_path()].push_back(*suffix);
    whole_layers = whole_layers || entry.path().filename() == "x.npy";
  }
  if (suffixes.empty())
    refuse_files(fmt::format("there is no q.npy in {}", request.folder),
                 whole_layers ? "it holds whole layers: check is of attention, with run.scope = \"attention\""
                              : "save q, k and v as they enter attention: docs/check.md has the lines");
  std::vector<CheckedAttention> all;
  for (auto& [folder, of_folder] : suffixes) {
    std::ranges::sort(of_folder);
    std::map<std::string, std::vector<std::string>> names;  // of outputs, by suffix
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string stem = entry.path().stem().string();
      if (entry.path().extension() != ".npy" || !stem.starts_with("o-")) continue;
      std::string longest;
      for (const std::string& suffix : of_folder)
        if (stem.ends_with(suffix) && suffix.size() > longest.size()) longest = suffix;
      names[longest].push_back(stem.substr(2, stem.size() - 2 - longest.size()));
    }
    for (const std::string& suffix : of_folder) {
      if (names[suffix].empty())
        refuse_files(fmt::format("there is no output o-NAME{}.npy in {}", suffix, folder.string()),
                     "save what your program computed as o-mine.npy beside q.npy");
      std::ranges::sort(names[suffix]);
      all.push_back(check_attention(folder, suffix, names[suffix], request));
    }
  }
  return all;
}

}  // namespace spscope
