// Masks by recipe are made once and dropped when they are too many; a reference is computed once for the same inputs
// and masks, and again for others.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backend/job/job_layers.h"
#include "backend/job/layer_masks.h"
#include "backend/job/mask_cache.h"
#include "backend/job/reference_cache.h"

namespace spscope {
namespace {

TEST(MaskCache, MakesAMaskOnceAndForgetsWhenItIsFull) {
  int made = 0;
  const auto make = [&] {
    ++made;
    return BlockMask(2, BlockMask::uniform_starts(64, 8));
  };
  MaskCache cache(300);  // two of 2 x 8 rows of a word
  for (const char* recipe : {"a", "b", "a", "b"}) cache.get(recipe, make);
  EXPECT_EQ(made, 2);
  cache.get("c", make);
  cache.get("c", make);
  EXPECT_EQ(made, 3);
  cache.get("a", make);
  EXPECT_EQ(made, 4);
}

// Masks are made ahead by threads.
TEST(MaskCache, IsAskedByManyThreads) {
  MaskCache cache(4096);  // some of them
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const int heads = 1 + i % 20;
        const auto make = [&] { return BlockMask(heads, BlockMask::uniform_starts(64, 8)); };
        wrong += cache.get(std::to_string(heads), make).heads() != heads;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(MaskCache, WaitsForAMaskThatAnotherThreadMakes) {
  MaskCache cache;
  std::atomic<int> made = 0;
  std::atomic<bool> asked = false;
  const auto make = [&] {
    ++made;
    while (!asked) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return BlockMask(3, BlockMask::uniform_starts(64, 8));
  };
  std::jthread first([&] { cache.get("a", make); });
  while (made == 0) std::this_thread::yield();
  std::jthread second([&] {
    asked = true;
    EXPECT_EQ(cache.get("a", make).heads(), 3);
  });
  second.join();
  EXPECT_EQ(made, 1);
}

TEST(MaskCache, AsksAgainForAMaskThatCouldNotBeMade) {
  MaskCache cache;
  const auto fails = []() -> BlockMask { throw Error(ErrorCode::kMaskFile, "no such file"); };
  EXPECT_THROW(cache.get("a", fails), Error);
  EXPECT_EQ(cache.get("a", [] { return BlockMask(2, BlockMask::uniform_starts(64, 8)); }).heads(), 2);
}

// What sources share is what each would make: another seed, layer or step is another mask.
TEST(MaskCache, GivesASourceItsOwnMasks) {
  JobFlags flags;
  flags.settings = {"mask.pattern=sparge",   "model.preset=wan-mini", "run.mode=simulate",
                    "cluster.preset=h100x8", "cluster.ranks=2",       "run.layers=2"};
  const auto cache = std::make_shared<MaskCache>();
  for (const char* seed : {"1", "2", "1"}) {
    JobFlags with = flags;
    with.settings.push_back(std::string("mask.seed=") + seed);
    Job alone = load_job(with), shared = alone;
    shared.mask_cache = cache;
    const ActivationSource activations(alone);
    const MaskSource own(alone, activations), other(shared, activations);
    for (const int layer : {0, 1})
      for (const int step : {0, 1})
        EXPECT_EQ(own.at(step, layer).inner.mask.hash(), other.at(step, layer).inner.mask.hash());
  }
}

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
