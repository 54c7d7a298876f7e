#include "backend/job/reference_cache.h"

#include <algorithm>
#include <iterator>

namespace spscope {
namespace {

// Of expected outputs: more layers than this holds are computed anew at each step. The last one is always kept.
constexpr std::int64_t kMostKeptBytes = std::int64_t{1} << 28;

std::uint64_t mask_hash(const Request& request, AttendedAxis axis) {
  return request.attends(axis) ? request.executed_mask(axis).mask().hash() : 0;
}

}  // namespace

std::shared_ptr<const Reference> ReferenceCache::of(const Request& request, const Activations& input, InputKey key,
                                                    const RunSection& run, const std::atomic<bool>* interrupt) {
  const Key wanted{key, mask_hash(request, AttendedAxis::kOuter), mask_hash(request, AttendedAxis::kInner)};
  const auto found = std::ranges::find(kept_, wanted, &Kept::key);
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front().reference;
  }
  kept_.push_front({wanted, std::make_shared<const Reference>(request, input, run.verify, run.seed, interrupt)});
  ++made_;
  if (interrupt != nullptr && interrupt->load()) {
    kept_.pop_front();
    return nullptr;
  }
  std::int64_t bytes = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    bytes += kept->reference->num_bytes();
    kept = bytes > kMostKeptBytes && kept != kept_.begin() ? kept_.erase(kept) : std::next(kept);
  }
  return kept_.front().reference;
}

}  // namespace spscope
