// The block masks of a job: of each denoise step and layer, from a pattern, a file, or the queries and keys of real
// activations.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "backend/job/job.h"
#include "backend/job/layer_activations.h"
#include "backend/mask/block_mask.h"
#include "backend/mask/mask_import.h"
#include "backend/mask/pattern.h"

namespace spscope {

// A mask and its recipe (mask_recipe.h), or "" when only its bits say what it is.
struct SourcedMask {
  BlockMask mask;
  std::string recipe;
};

// Masks of one layer at one denoise step. `temporal` is there for spatial-temporal models only.
struct LayerMasks {
  SourcedMask inner;
  std::optional<SourcedMask> temporal;
};

// How mask.file is read, as far as the config says it: without the tokens of the model and the limit of memory.
MaskReading mask_reading(const MaskConfig& mask);

class MaskSource {
 public:
  // Checks that masks of every layer and step can be had. The pattern `sparge` is computed from real queries and keys
  // when the job has them. Both arguments must outlive this object. Throws Error with all problems.
  MaskSource(const Job& job, const ActivationSource& activations);

  LayerMasks at(int denoise_step, int layer) const;
  // The same; they are held until this object ends, and at() does not make them again.
  const LayerMasks& keep(int denoise_step, int layer);
  // The same for several layers, whose masks are made at once where there are cores.
  void keep_all(int denoise_step, std::span<const int> layers);
  // Whether masks differ between denoise steps, so that a plan can know only an older one.
  bool evolves() const;
  // What the masks are, for people: "paro", "file masks.npz".
  std::string title() const;

 private:
  void open_file();
  void check_file(std::vector<Problem>& problems) const;
  bool stand_for_all() const;
  std::string file_title() const;
  std::vector<std::int32_t> file_starts() const;
  SourcedMask inner_mask(int denoise_step, int layer) const;
  SourcedMask file_mask(int denoise_step, int layer) const;
  SourcedMask temporal_mask(int denoise_step, int layer) const;
  SourcedMask computed_mask(const PatternRequest& request) const;
  SourcedMask generated_mask(const Pattern& pattern, const PatternRequest& request) const;
  bool computed() const;
  // Of one attended sequence: of a spatial-temporal model, one frame.
  std::int32_t attended_tokens() const;
  PatternRequest pattern_request(const Pattern& pattern, int denoise_step, int layer) const;
  PatternRequest temporal_request(int denoise_step, int layer) const;

  const Job& job_;
  const ActivationSource& activations_;
  const Pattern* pattern_ = nullptr;  // null where a file gives the masks
  const Pattern* temporal_ = nullptr;
  std::unique_ptr<MaskFile> file_;
  std::map<std::pair<int, int>, LayerMasks> kept_;  // by denoise step and layer
};

}  // namespace spscope
