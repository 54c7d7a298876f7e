// A reference is computed once for the same inputs and masks, and again for others.
#include "backend/job/reference_cache.h"

#include <gtest/gtest.h>

#include "backend/job/job_layers.h"

namespace spscope {
namespace {

TEST(ReferenceCache, ComputesEachInputAndMaskOnce) {
  JobFlags flags;
  flags.settings = {"model.grid=[2,4,8]", "model.heads=2",   "model.head_dim=8",
                    "mask.block=16",      "cluster.ranks=2", "run.denoise_steps=2"};
  const Job job = load_job(flags);
  const ActivationSource activations(job);
  const MaskSource masks(job, activations);
  ReferenceCache cache;
  std::atomic<bool> stop = false;
  int steps = 0;
  for_each_layer(job, masks, [&](const LayerOfJob& where) {
    const Activations input = activations.at(where.request, 0, 0);
    const auto of = [&](InputKey key) { return cache.of(where.request, input, key, job.config.run, &stop); };
    const int before = cache.made();
    const std::shared_ptr<const Reference> first = of(7);
    EXPECT_EQ(cache.made(), before + 1);  // the mask of this step is another one
    EXPECT_GT(first->num_rows(), 0);
    EXPECT_EQ(of(7), first);
    EXPECT_EQ(cache.made(), before + 1);
    EXPECT_NE(of(8), nullptr);
    EXPECT_EQ(cache.made(), before + 2);
    EXPECT_EQ(of(7), first);
    EXPECT_EQ(cache.made(), before + 2);
    ++steps;
    return true;
  });
  EXPECT_EQ(steps, 2);
  stop = true;
  const Request request = Request::attention(1, 1, 8, BlockMask(1, BlockMask::uniform_starts(8, 8)));
  EXPECT_EQ(cache.of(request, generate_activations(request, 1), 9, job.config.run, &stop), nullptr);
}

// Inputs of a file are the same at every step, seeded ones are not.
TEST(InputKeyOfActivations, OfSeededOnesDiffersInEveryStep) {
  const Job job = load_job({});
  const ActivationSource activations(job);
  EXPECT_NE(activations.key(0, 0), activations.key(1, 0));
  EXPECT_NE(activations.key(0, 0), activations.key(0, 1));
}

}  // namespace
}  // namespace spscope
