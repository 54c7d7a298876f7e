#include "backend/job/layer_masks.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <set>
#include <utility>
#include <vector>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/cores.h"
#include "backend/base/listed.h"
#include "backend/base/result.h"
#include "backend/mask/sparge_from_qk.h"

namespace spscope {
namespace {

// The parameters of a pattern as [mask.NAME] sets them; load_job() checked them.
Parameters pattern_parameters(const RunConfig& config, const Pattern& pattern) {
  std::vector<Problem> none;
  const std::vector<Parameter> rows = pattern.parameters();
  Parameters values(rows);
  const auto section = config.pattern_parameters.find(pattern.name);
  if (section == config.pattern_parameters.end()) return values;
  for (const auto& [key, text] : section->second) set_parameter(values, rows, key, text, pattern.name, none);
  return values;
}

}  // namespace

MaskReading mask_reading(const MaskConfig& mask) {
  return {.array = mask.array,
          .lists = mask.as == MaskForm::kAuto ? std::nullopt : std::optional(mask.as == MaskForm::kLut),
          .counts = mask.counts,
          .starts = mask.starts,
          .delta = mask.delta == ListCoding::kAuto ? std::nullopt : std::optional(mask.delta == ListCoding::kDelta),
          .axes = mask.axes,
          .batch = mask.batch,
          .block = mask.block,
          .q_block = mask.q_block,
          .key_block = mask.key_block};
}

MaskSource::MaskSource(const Job& job, const ActivationSource& activations) : job_(job), activations_(activations) {
  std::vector<Problem> problems;
  if (!job.config.mask.file.empty()) open_file();
  if (!file_) pattern_ = find_pattern(job.config.mask.pattern);
  temporal_ = find_pattern(job.config.mask.temporal_pattern.empty() ? "dense" : job.config.mask.temporal_pattern);
  if (!file_) {
    for (Problem& p : pattern_->check(pattern_request(*pattern_, 0, job_.layers.front())))
      problems.push_back(std::move(p));
  } else {
    check_file(problems);
  }
  if (job.model.spatiotemporal())
    for (Problem& p : temporal_->check(temporal_request(0, job_.layers.front()))) problems.push_back(std::move(p));
  if (computed() && job.model.text_first && job.model.joint_text_tokens > 0)
    problems.push_back({ErrorCode::kConfigConflict,
                        "mask.pattern",
                        "masks cannot be computed from activations whose text comes first",
                        "compute the mask in your program and give it as mask.file",
                        {}});
  locate(problems, job.places);
  if (!problems.empty()) throw Error(std::move(problems));
}

// A fault of the file is one of the key that names it.
void MaskSource::open_file() {
  const MaskConfig& mask = job_.config.mask;
  MaskReading reading = mask_reading(mask);
  reading.tokens = attended_tokens();
  reading.max_bytes = job_.max_memory_bytes;
  Result<std::unique_ptr<MaskFile>> file =
      capture([&] { return std::make_unique<MaskFile>(input_path(job_.config, mask.file), reading); });
  if (file) {
    file_ = std::move(*file);
    return;
  }
  if (file.error().code() == ErrorCode::kInternal) throw file.error();
  std::vector<Problem> problems = {{file.error().code(), "mask.file", file.error().what(), file.error().hint(), {}}};
  locate(problems, job_.places);
  throw Error(std::move(problems));
}

// One entry of the file serves every layer or denoise step; several must be enough.
void MaskSource::check_file(std::vector<Problem>& problems) const {
  const auto report = [&](const std::string& message, const std::string& hint) {
    problems.push_back({ErrorCode::kMaskShape, "mask.file", message, hint, {}});
  };
  const RunSection& run = job_.config.run;
  if (const std::optional<Error> misfit = failure_of([&] { file_->require_tokens(attended_tokens()); }))
    report(misfit->what(), misfit->hint());
  if (file_->heads() != 1 && file_->heads() != job_.model.heads)
    report(fmt::format("it has {} heads, the model has {}", file_->heads(), job_.model.heads),
           "import a mask of this model, or of one head, which serves all");
  const int last = job_.layers.back();
  if (file_->layers() > 1 && file_->layers() <= last && !stand_for_all()) {
    const bool first = run.layers.kind == LayerChoice::Kind::kFirst;
    report(first ? fmt::format("it has {} layers, {} are to run", file_->layers(), last + 1)
                 : fmt::format("it has {} layers, and layer {} is to run", file_->layers(), last),
           fmt::format("set run.layers to {} or less, or to spread:{}, which takes those of the file for all",
                       file_->layers(), std::min(file_->layers(), 2)));
  }
  if (file_->denoise_steps() > 1 && file_->denoise_steps() < run.denoise_steps)
    report(fmt::format("it has {} denoise steps, {} are to run", file_->denoise_steps(), run.denoise_steps),
           fmt::format("set run.denoise_steps to {} or less", file_->denoise_steps()));
}

// Layers that are a sample of the model's: those of a file that has fewer than the model then stand for all.
bool MaskSource::stand_for_all() const {
  return file_->layers() > 1 && file_->layers() < job_.model.layers &&
         job_.config.run.layers.kind == LayerChoice::Kind::kSpread;
}

std::int32_t MaskSource::attended_tokens() const {
  const TokenGrid& grid = job_.model.grid;
  return (job_.model.spatiotemporal() ? 1 : grid[0]) * grid[1] * grid[2] + job_.model.joint_text_tokens;
}

PatternRequest MaskSource::pattern_request(const Pattern& pattern, int denoise_step, int layer) const {
  const RunConfig& config = job_.config;
  const Model& model = job_.model;
  PatternRequest request;
  request.heads = model.heads;
  request.grid = model.spatiotemporal() ? TokenGrid{1, model.grid[1], model.grid[2]} : model.grid;
  request.text_tokens = model.joint_text_tokens;
  request.block = config.mask.block;
  request.density = config.mask.density;
  request.seed = config.mask.seed;
  request.denoise_step = denoise_step;
  request.denoise_steps = std::max(model.denoise_steps, config.run.denoise_steps);
  request.layer = layer;
  request.layers = model.layers;
  request.parameters = pattern_parameters(config, pattern);
  return request;
}

// A file's masks have the borders that come with it, or blocks of `mask.block` tokens over text and video alike: a file
// keeps the order of the model's tokens.
std::vector<std::int32_t> MaskSource::file_starts() const {
  return file_->block_starts().empty() ? BlockMask::uniform_starts(attended_tokens(), job_.config.mask.block)
                                       : file_->block_starts();
}

// Replicated text is held apart from the video, so blocks with both are cut.
SourcedMask MaskSource::file_mask(int denoise_step, int layer) const {
  const Model& model = job_.model;
  const int step = std::min(denoise_step, file_->denoise_steps() - 1);
  const int of_layer = stand_for_all() ? layer * file_->layers() / model.layers : std::min(layer, file_->layers() - 1);
  BlockMask mask = file_->mask(step, of_layer, file_starts(), model.heads);
  const int text = model.spatiotemporal() ? 0 : model.joint_text_tokens;
  if (job_.config.run.text == TextLayout::kReplicate && text > 0)
    mask = mask.cut_at(model.text_first ? text : mask.tokens() - text);
  return {std::move(mask), ""};
}

SourcedMask MaskSource::inner_mask(int denoise_step, int layer) const {
  if (file_) return file_mask(denoise_step, layer);
  const PatternRequest request = pattern_request(*pattern_, denoise_step, layer);
  if (computed()) return computed_mask(request);
  return generated_mask(*pattern_, request);
}

SourcedMask MaskSource::generated_mask(const Pattern& pattern, const PatternRequest& request) const {
  std::string recipe = recipe_of(pattern, request);
  BlockMask mask = job_.mask_cache ? job_.mask_cache->get(recipe, [&] { return pattern.generate(request); })
                                   : pattern.generate(request);
  return {std::move(mask), std::move(recipe)};
}

// Real queries and keys have one true Sparge mask; the density then follows from them.
bool MaskSource::computed() const {
  return !file_ && activations_.from_file() && pattern_->name == "sparge" && !job_.model.spatiotemporal();
}

SourcedMask MaskSource::computed_mask(const PatternRequest& request) const {
  const AttentionInput input = activations_.file_input(0, request.layer);
  SpargeSettings settings;
  settings.cdf = request.parameters.real("cdf");
  settings.rows_together = request.parameters.integer("rows_together");
  return {sparge_from_qk(input.q, input.k, request.heads, job_.model.head_dim, block_starts(request), settings), ""};
}

// Frames are cut one by one, so that a temporal axis of a few frames can be spread over as many ranks.
PatternRequest MaskSource::temporal_request(int denoise_step, int layer) const {
  PatternRequest request = pattern_request(*temporal_, denoise_step, layer);
  request.grid = {job_.model.grid[0], 1, 1};
  request.text_tokens = 0;
  request.block = 1;
  if (job_.config.mask.temporal_pattern.empty()) request.density = 1;
  return request;
}

SourcedMask MaskSource::temporal_mask(int denoise_step, int layer) const {
  return generated_mask(*temporal_, temporal_request(denoise_step, layer));
}

const LayerMasks& MaskSource::keep(int denoise_step, int layer) {
  return kept_.try_emplace({denoise_step, layer}, at(denoise_step, layer)).first->second;
}

void MaskSource::keep_all(int denoise_step, std::span<const int> layers) {
  const auto policy = usable_cores() == 1 ? std::launch::deferred : std::launch::async | std::launch::deferred;
  std::vector<std::future<LayerMasks>> making;
  for (const int layer : layers) making.push_back(std::async(policy, [=, this] { return at(denoise_step, layer); }));
  std::vector<LayerMasks> made;  // first all: at() looks among those that are kept
  for (std::future<LayerMasks>& masks : making) made.push_back(masks.get());
  for (std::size_t i = 0; i < made.size(); ++i) kept_.try_emplace({denoise_step, layers[i]}, std::move(made[i]));
}

LayerMasks MaskSource::at(int denoise_step, int layer) const {
  if (const auto kept = kept_.find({denoise_step, layer}); kept != kept_.end()) return kept->second;
  LayerMasks masks{inner_mask(denoise_step, layer), std::nullopt};
  if (job_.model.spatiotemporal()) masks.temporal = temporal_mask(denoise_step, layer);
  return masks;
}

bool MaskSource::evolves() const {
  if (job_.model.spatiotemporal() && temporal_->evolves) return true;
  if (file_) return file_->denoise_steps() > 1;
  return !computed() && pattern_->evolves;  // one set of activations serves every step
}

// "file masks.npz, whose one head serves all", "file masks.npz, of whose 4 layers and 3 steps 1 and 1 are run".
std::string MaskSource::file_title() const {
  std::string title = fmt::format("file {}", job_.config.mask.file);
  if (file_->heads() == 1 && job_.model.heads > 1) title += ", whose one head serves all";
  if (const std::string cut = file_->cut_text(file_starts()); !cut.empty()) title += ", " + cut;
  const int layers = file_->layers(), steps = file_->denoise_steps();
  if (stand_for_all()) {
    std::set<int> taken;
    for (const int layer : job_.layers) taken.insert(layer * layers / job_.model.layers);
    return title + fmt::format(", of whose {} layers {} stand{} for all {}", layers, listed(taken),
                               taken.size() == 1 ? "s" : "", job_.model.layers);
  }
  const int run_layers = static_cast<int>(std::ssize(job_.layers)), run_steps = job_.config.run.denoise_steps;
  if (layers == 1 && steps == 1) return title;
  if (layers <= run_layers && steps <= run_steps)
    title +=
        fmt::format(", {} layer{} and {} step{} of it", layers, layers == 1 ? "" : "s", steps, steps == 1 ? "" : "s");
  else
    title +=
        fmt::format(", {} of whose {} layers and {} of whose {} steps run (all: run.layers={}, run.denoise_steps={})",
                    std::min(run_layers, layers), layers, std::min(run_steps, steps), steps, layers, steps);
  return title;
}

std::string MaskSource::title() const {
  if (file_) return file_title();
  if (computed()) return fmt::format("{} of real q and k", pattern_->name);
  return std::string(pattern_->name);
}

}  // namespace spscope
