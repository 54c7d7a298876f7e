#include "backend/job/layer_activations.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/execute/layer_parameters.h"

namespace spscope {
namespace {

constexpr const char* kTensorNames[] = {"q", "k", "v"};
constexpr int kNumInputs = 3;

}  // namespace

ActivationSource::ActivationSource(const Job& job)
    : job_(job), parameters_(std::make_shared<LayerParameters>(job.config.run.seed)) {
  if (job.config.model.activations.empty()) return;
  const std::string path = input_path(job.config, job.config.model.activations);
  ReadOptions options = {.max_bytes = job.max_memory_bytes};
  for (const char* suffix : {"", "_temporal"}) {
    if (*suffix != '\0' && !job.model.spatiotemporal()) break;
    for (const char* name : kTensorNames) options.only.push_back(fmt::format("{}{}", name, suffix));
  }
  std::vector<Array> read = read_arrays(path, options);
  std::vector<Problem> problems;
  for (const std::string& name : options.only) {
    const auto found = std::ranges::find(read, name, &Array::name);
    if (found == read.end()) {
      problems.push_back({ErrorCode::kActivations,
                          "model.activations",
                          fmt::format("there is no array \"{}\" in {}", name, path),
                          "activations are a .npz or .safetensors file with q, k and v",
                          {}});
      continue;
    }
    if (std::optional<Problem> problem = misfit(*found)) problems.push_back(std::move(*problem));
    arrays_.push_back(std::move(*found));
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

std::optional<Problem> ActivationSource::misfit(const Array& array) const {
  const Model& model = job_.model;
  const std::vector<std::int64_t> layer_shape = {model.heads, model.outer() * model.inner(), model.head_dim};
  std::vector<std::int64_t> shape = array.shape;
  const bool by_layer = shape.size() == 4;
  const std::int64_t layers = by_layer ? shape.front() : 1;
  if (by_layer) shape.erase(shape.begin());
  if (shape == layer_shape && (!by_layer || layers > job_.layers.back()) && model.batch == 1) return std::nullopt;
  return Problem{ErrorCode::kActivations,
                 "model.activations",
                 fmt::format("array \"{}\" of {} is [{}], the model needs [{}] for each of {} layers and batch 1",
                             array.name, job_.config.model.activations, fmt::join(array.shape, ", "),
                             fmt::join(layer_shape, ", "), job_.layers.back() + 1),
                 "set model.grid, model.heads and model.head_dim to the shape of the file",
                 {}};
}

AttentionInput ActivationSource::file_input(int attention, int layer) const {
  AttentionInput input;
  std::vector<float>* const parts[] = {&input.q, &input.k, &input.v};
  for (int t = 0; t < kNumInputs; ++t) {
    const Array& all = array(attention, t);
    const bool by_layer = all.shape.size() == 4;
    const std::int64_t count = all.num_elements() / (by_layer ? all.shape.front() : 1);
    *parts[t] = to_floats(all, job_.config.model.activations, by_layer ? layer * count : 0, count);
  }
  return input;
}

InputKey ActivationSource::key(int denoise_step, int layer, int pass) const {
  constexpr int kPassShift = 56, kStepShift = 32;
  const auto of_layer = static_cast<std::uint32_t>(layer);
  if (from_file()) return of_layer;
  return static_cast<InputKey>(pass) << kPassShift | static_cast<InputKey>(denoise_step) << kStepShift | of_layer;
}

Activations ActivationSource::at(const Request& request, int denoise_step, int layer,
                                 const std::atomic<bool>* interrupt, int pass) const {
  if (!from_file())
    return generate_activations(request, job_.config.run.seed * 0x9e3779b97f4a7c15u + key(denoise_step, layer, pass),
                                parameters_, interrupt);
  std::vector<AttentionInput> inputs;
  for (int a = 0; a < num_attentions(request); ++a) inputs.push_back(file_input(a, layer));
  return make_activations(request, std::move(inputs));
}

}  // namespace spscope
