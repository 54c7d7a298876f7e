#include "backend/job/dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <vector>

#include "backend/base/own_files.h"
#include "backend/mask/array_file.h"
#include "backend/mask/mask_import.h"

namespace spscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_make(const fs::path& path, const std::string& why) {
  throw Error(ErrorCode::kOutputPlace, fmt::format("cannot create the folder: {}: {}", why, path.string()),
              "choose another folder for --dump");
}

// The folder that the user names may be of anybody. What is below it may be a link that somebody else put there.
fs::path folder_of(const std::string& folder, const Job& job, const LayerOfJob& where) {
  fs::path path(folder);
  std::error_code failed;
  fs::create_directories(path, failed);
  std::vector<std::string> below;
  if (job.config.run.denoise_steps > 1) below.push_back(fmt::format("step-{}", where.denoise_step));
  below.push_back(fmt::format("layer-{}", where.layer));
  for (const std::string& name : below) {
    if (failed) break;
    path /= name;
    const bool made = fs::create_directory(path, failed);
    if (!made && !failed && !is_own_folder(path)) cannot_make(path, "a folder or link of another user is there");
  }
  if (failed) cannot_make(path, failed.message());
  return path;
}

const char* suffix_of(int attention) { return attention == 0 ? "" : "_temporal"; }

// [batch,] heads, tokens, head_dim; of a hidden state [batch,] hidden, tokens.
std::vector<std::int64_t> shape_of(const Request& request, bool hidden_state) {
  const std::int64_t tokens = std::int64_t{request.outer_tokens} * request.inner_tokens;
  std::vector<std::int64_t> shape;
  if (request.batch > 1) shape.push_back(request.batch);
  if (hidden_state)
    shape.insert(shape.end(), {request.hidden, tokens});
  else
    shape.insert(shape.end(), {request.heads, tokens, request.head_dim});
  return shape;
}

void write_floats(const fs::path& path, const Request& request, const std::vector<float>& values,
                  bool hidden_state = false) {
  write_npy(path.string(), ElementType::kF32, shape_of(request, hidden_state), std::as_bytes(std::span(values)));
}

}  // namespace

void dump_inputs(const std::string& folder, const Job& job, const LayerOfJob& where, const Activations& input) {
  const fs::path path = folder_of(folder, job, where);
  for (int a = 0; a < static_cast<int>(input.attentions.size()); ++a) {
    const AttentionInput& attention = input.attentions[static_cast<std::size_t>(a)];
    write_floats(path / fmt::format("q{}.npy", suffix_of(a)), where.request, attention.q);
    write_floats(path / fmt::format("k{}.npy", suffix_of(a)), where.request, attention.k);
    write_floats(path / fmt::format("v{}.npy", suffix_of(a)), where.request, attention.v);
  }
  if (!input.x.empty()) write_floats(path / "x.npy", where.request, input.x, true);
  write_mask_npy(where.masks.inner.mask, (path / "mask.npy").string(), (path / "block_starts.npy").string());
  if (where.masks.temporal)
    write_mask_npy(where.masks.temporal->mask, (path / "mask_temporal.npy").string(),
                   (path / "block_starts_temporal.npy").string());
}

void dump_outputs(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                  const std::vector<OutputTensor>& outputs) {
  const fs::path path = folder_of(folder, job, where);
  for (const OutputTensor& output : outputs) {
    const bool hidden_state = output.tensors == kHiddenState;
    const std::string name =
        fmt::format("{}-{}{}.npy", hidden_state ? "x" : "o", strategy, hidden_state ? "" : suffix_of(output.layer));
    write_floats(path / name, where.request, output.values, hidden_state);
  }
}

}  // namespace spscope
