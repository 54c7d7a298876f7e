#include "backend/job/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "backend/base/json.h"
#include "backend/base/own_files.h"
#include "backend/base/whole_file.h"
#include "backend/execute/layer_parameters.h"
#include "backend/mask/array_file.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/npy_format.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_make(const fs::path& path, const std::string& why) {
  throw Error(ErrorCode::kOutputPlace, fmt::format("cannot create the folder: {}: {}", why, path.string()),
              "choose another folder for --dump");
}

// The folder that the user names, which may be of anybody, and one below the other in it, which may not.
fs::path make_folder(const std::string& folder, const std::vector<std::string>& below) {
  fs::path path(folder);
  std::error_code failed;
  fs::create_directories(path, failed);
  for (const std::string& name : below) {
    if (failed) break;
    path /= name;
    const bool made = fs::create_directory(path, failed);
    if (!made && !failed && !is_own_folder(path)) cannot_make(path, "a folder or link of another user is there");
  }
  if (failed) cannot_make(path, failed.message());
  return path;
}

fs::path folder_of(const std::string& folder, const Job& job, const LayerOfJob& where) {
  std::vector<std::string> below;
  if (job.config.run.denoise_steps > 1) below.push_back(fmt::format("step-{}", where.denoise_step));
  below.push_back(fmt::format("layer-{}", where.layer));
  return make_folder(folder, below);
}

const char* suffix_of(int attention) { return attention == 0 ? "" : "_temporal"; }
std::string suffix_of(int attention, int pass) {
  return suffix_of(attention) + (pass == 0 ? std::string() : fmt::format("-pass-{}", pass));
}

std::string_view name_of(LayerBlock block) {
  switch (block) {
    case LayerBlock::kAttention:
      return "attention";
    case LayerBlock::kWan:
      return "wan";
    case LayerBlock::kJoint:
      return "joint";
    case LayerBlock::kDoubleStream:
      return "double-stream";
    case LayerBlock::kSingleStream:
      return "single-stream";
    case LayerBlock::kSpatialTemporal:
      return "spatial-temporal";
  }
  return "";
}

// What a reader needs besides the arrays.
Json layer_json(const Request& request) {
  Json json = {{"block", name_of(request.block)},
               {"dtype", dtype_name(request.dtype)},
               {"batch", request.batch},
               {"heads", request.heads},
               {"head_dim", request.head_dim},
               {"grid", {request.grid[0], request.grid[1], request.grid[2]}},
               {"outer_tokens", request.outer_tokens},
               {"inner_tokens", request.inner_tokens},
               {"text_tokens", request.text_tokens},
               {"text_first", request.text_first}};
  if (request.block == LayerBlock::kAttention) return json;
  json["hidden"] = request.hidden;
  json["ffn"] = request.ffn;
  json["context_tokens"] = request.context_tokens;
  if (request.block == LayerBlock::kSpatialTemporal) json["feed_forward_networks"] = request.mlps;
  return json;
}

std::vector<std::int64_t> with_batch(const Request& request, std::vector<std::int64_t> shape) {
  if (request.batch > 1) shape.insert(shape.begin(), request.batch);
  return shape;
}

std::int64_t num_tokens(const Request& request) { return std::int64_t{request.outer_tokens} * request.inner_tokens; }

void write_heads(const fs::path& path, const Request& request, const std::vector<float>& values) {
  write_npy(path.string(), ElementType::kF32,
            with_batch(request, {request.heads, num_tokens(request), request.head_dim}),
            std::as_bytes(std::span(values)));
}

// A hidden state, which a run holds as [batch, hidden, tokens], token by token.
void write_hidden_state(const fs::path& path, const Request& request, const std::vector<float>& values) {
  constexpr std::int64_t kTokensTogether = 64;
  const std::int64_t tokens = num_tokens(request), hidden = request.hidden;
  WholeFile file(path.string());
  file.write(npy_preamble(ElementType::kF32, with_batch(request, {tokens, hidden})));
  std::vector<float> rows;
  for (std::int64_t entry = 0; entry < request.batch; ++entry)
    for (std::int64_t first = 0; first < tokens; first += kTokensTogether) {
      const std::int64_t count = std::min(kTokensTogether, tokens - first);
      rows.resize(static_cast<std::size_t>(count * hidden));
      for (std::int64_t c = 0; c < hidden; ++c)
        for (std::int64_t t = 0; t < count; ++t)
          rows[static_cast<std::size_t>(t * hidden + c)] =
              values[static_cast<std::size_t>((entry * hidden + c) * tokens + first + t)];
      file.write(std::as_bytes(std::span(rows)));
    }
  file.commit();
}

}  // namespace

void dump_inputs(const std::string& folder, const Job& job, const LayerOfJob& where, const Activations& input,
                 int pass) {
  const fs::path path = folder_of(folder, job, where);
  write_whole_file((path / "layer.json").string(), layer_json(where.request).dump(2) + "\n");
  for (int a = 0; a < static_cast<int>(input.attentions.size()); ++a) {
    const AttentionInput& attention = input.attentions[static_cast<std::size_t>(a)];
    write_heads(path / fmt::format("q{}.npy", suffix_of(a, pass)), where.request, attention.q);
    write_heads(path / fmt::format("k{}.npy", suffix_of(a, pass)), where.request, attention.k);
    write_heads(path / fmt::format("v{}.npy", suffix_of(a, pass)), where.request, attention.v);
  }
  if (!input.x.empty()) write_hidden_state(path / fmt::format("x{}.npy", suffix_of(0, pass)), where.request, input.x);
  if (pass > 0) return;  // the rest is the same
  write_mask_npy(where.masks.inner.mask, (path / "mask.npy").string(), (path / "block_starts.npy").string());
  if (where.masks.temporal)
    write_mask_npy(where.masks.temporal->mask, (path / "mask_temporal.npy").string(),
                   (path / "block_starts_temporal.npy").string());
}

void dump_parameters(const std::string& folder, const Request& request, LayerParameters& parameters) {
  const fs::path path = make_folder(folder, {"weights"});
  for_each_parameter(request, parameters,
                     [&](const std::string& name, std::span<const std::int64_t> shape, std::span<const float> numbers) {
                       write_npy((path / (name + ".npy")).string(), ElementType::kF32, shape, std::as_bytes(numbers));
                     });
}

void dump_outputs(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                  const std::vector<OutputTensor>& outputs, int pass) {
  const fs::path path = folder_of(folder, job, where);
  for (const OutputTensor& output : outputs) {
    if (output.tensors == kHiddenState)
      write_hidden_state(path / fmt::format("y-{}{}.npy", strategy, suffix_of(0, pass)), where.request, output.values);
    else
      write_heads(path / fmt::format("o-{}{}.npy", strategy, suffix_of(output.layer, pass)), where.request,
                  output.values);
  }
}

void dump_guided(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                 const std::vector<float>& guided) {
  const std::int64_t shape[] = {job.model.batch, job.model.prediction_channels, job.model.video_tokens()};
  write_npy((folder_of(folder, job, where) / fmt::format("guided-{}.npy", strategy)).string(), ElementType::kF32, shape,
            std::as_bytes(std::span(guided)));
}

}  // namespace spscope
