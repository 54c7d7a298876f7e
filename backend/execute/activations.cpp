#include "backend/execute/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "backend/base/error.h"
#include "backend/base/rng.h"
#include "backend/execute/layer_parameters.h"

namespace spscope {
namespace {

// Numbers that are made before an interrupt is looked for: some milliseconds.
constexpr std::size_t kNumbersPerLook = 1 << 20;

constexpr std::array<std::string_view, 3> kNames = {"q", "k", "v"};

std::array<std::vector<float>*, 3> arrays_of(AttentionInput& input) { return {&input.q, &input.k, &input.v}; }

Activations empty_activations(const Request& request) {
  Activations made;
  made.batch = request.batch;
  made.heads = request.heads;
  made.head_dim = request.head_dim;
  made.outer_tokens = request.outer_tokens;
  made.inner_tokens = request.inner_tokens;
  made.attentions_of_pass = num_attentions(request);
  return made;
}

void check_array(std::string_view name, std::size_t layer, std::span<const float> array, std::int64_t expected,
                 std::vector<Problem>& problems) {
  const std::string field = fmt::format("activations.{}.{}", layer, name);
  if (static_cast<std::int64_t>(array.size()) != expected) {
    problems.push_back({ErrorCode::kActivations, field,
                        fmt::format("{} has {} elements, the workload needs {}", name, array.size(), expected),
                        "give [batch, heads, tokens, head_dim] of the configured model"});
    return;
  }
  const auto bad = std::ranges::find_if_not(array, [](float x) { return std::isfinite(x); });
  if (bad != array.end())
    problems.push_back(
        {ErrorCode::kActivations, field,
         fmt::format("{} holds {} at element {}, rounded to the run's dtype", name, *bad, bad - array.begin()),
         "activations must be finite numbers that run.dtype can hold"});
}

// The largest Euclidean norm of a row.
double largest_norm(std::span<const float> rows, int width) {
  double largest = 0;
  for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(width)) {
    double squares = 0;
    for (const float x : rows.subspan(first, static_cast<std::size_t>(width))) squares += double{x} * x;
    largest = std::max(largest, squares);
  }
  return std::sqrt(largest);
}

// Kernels add up scores and weighted values in fp32: |q . k| is at most |q| |k|, and weights at most the number of
// keys.
void check_range(std::size_t layer, const AttentionInput& input, int head_dim, std::int64_t keys,
                 std::vector<Problem>& problems) {
  constexpr double kLargest = 1e38;  // of fp32: 3.4e38
  const double q = largest_norm(input.q, head_dim), k = largest_norm(input.k, head_dim),
               v = largest_norm(input.v, head_dim);
  const auto report = [&](const char* name, const std::string& what) {
    problems.push_back({ErrorCode::kActivations, fmt::format("activations.{}.{}", layer, name), what,
                        "scale the activations down: attention in fp32 would overflow"});
  };
  if (q * k > kLargest)
    report("q",
           fmt::format("rows of q and k have norms up to {:.2g} and {:.2g}: scores may exceed {:.0e}", q, k, kLargest));
  if (v * static_cast<double>(keys) > kLargest)
    report("v",
           fmt::format("rows of v have norms up to {:.2g}: sums over {} keys may exceed {:.0e}", v, keys, kLargest));
}

}  // namespace

Activations generate_activations(const Request& request, std::uint64_t seed,
                                 std::shared_ptr<LayerParameters> parameters, const std::atomic<bool>* interrupt) {
  Activations made = empty_activations(request);
  std::uint64_t key = 0;
  const auto fill = [&](std::vector<float>& array, std::int64_t count) {
    Rng rng(seed, key++);
    array.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i % kNumbersPerLook == 0 && interrupt != nullptr && interrupt->load()) return;
      array[i] = static_cast<float>(rng.normal());
    }
    round_to(request.dtype, array);
  };
  if (request.block != LayerBlock::kAttention) {
    made.hidden = request.hidden;
    made.parameters = parameters ? std::move(parameters) : std::make_shared<LayerParameters>(seed);
    fill(made.x, made.num_channels());
    return made;
  }
  made.attentions.resize(static_cast<std::size_t>(num_attentions(request)));
  for (AttentionInput& input : made.attentions)
    for (std::vector<float>* array : arrays_of(input)) fill(*array, made.num_rows() * made.head_dim);
  return made;
}

Activations make_activations(const Request& request, std::vector<AttentionInput> arrays) {
  Activations made = empty_activations(request);
  const auto wanted = static_cast<std::size_t>(num_attentions(request));
  std::vector<Problem> problems;
  if (arrays.size() != wanted)
    problems.push_back({ErrorCode::kActivations, "activations",
                        fmt::format("{} attentions are given, the model has {} a layer", arrays.size(), wanted),
                        "give q, k and v of each attention of the layer"});
  const std::int64_t keys[] = {request.inner_tokens, request.outer_tokens};
  for (std::size_t layer = 0; layer < arrays.size(); ++layer) {
    const auto each = arrays_of(arrays[layer]);
    const std::size_t before = problems.size();
    for (std::size_t t = 0; t < each.size(); ++t) {
      round_to(request.dtype, *each[t]);
      check_array(kNames[t], layer, *each[t], made.num_rows() * made.head_dim, problems);
    }
    if (problems.size() == before)
      check_range(layer, arrays[layer], made.head_dim, keys[std::min<std::size_t>(layer, 1)], problems);
  }
  if (!problems.empty()) throw Error(std::move(problems));
  made.attentions = std::move(arrays);
  return made;
}

Activations activations_at_once(std::vector<Activations> passes) {
  Activations whole = std::move(passes.front());
  for (std::size_t p = 1; p < passes.size(); ++p) {
    whole.x.insert(whole.x.end(), passes[p].x.begin(), passes[p].x.end());
    for (AttentionInput& input : passes[p].attentions) whole.attentions.push_back(std::move(input));
  }
  whole.passes = static_cast<int>(passes.size());
  return whole;
}

void require_fit(const Activations& activations, const Request& request) {
  const bool whole_layer = request.block != LayerBlock::kAttention;
  // Combining guidance passes starts from a hidden state without a layer.
  const bool has_state = whole_layer || (!request.outputs.empty() && request.outputs.front().tensors == kHiddenState);
  const int wanted = num_attentions(request) * request.passes;
  const bool shape = activations.passes == request.passes && activations.batch == request.batch &&
                     activations.heads == request.heads && activations.head_dim == request.head_dim &&
                     activations.outer_tokens == request.outer_tokens &&
                     activations.inner_tokens == request.inner_tokens;
  const bool number = has_state ? activations.hidden == request.hidden && (!whole_layer || activations.parameters)
                                : static_cast<int>(activations.attentions.size()) == wanted;
  const auto elements = static_cast<std::size_t>(activations.num_rows() * activations.head_dim);
  const bool inputs = std::ranges::all_of(activations.attentions, [&](const AttentionInput& input) {
    return input.q.size() == elements && input.k.size() == elements && input.v.size() == elements;
  });
  const bool state =
      !has_state || static_cast<std::int64_t>(activations.x.size()) == activations.num_channels() * request.passes;
  if (!shape || !number || !inputs || !state)
    throw Error(ErrorCode::kActivations, "the activations were made for another workload",
                "make them from the request that is run");
}

void round_to(Dtype dtype, std::span<float> numbers) {
  if (dtype == Dtype::kFp32) return;
  for (float& x : numbers) x = to_float(to_bf16(x));
}

}  // namespace spscope
