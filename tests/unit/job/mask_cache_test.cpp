// Masks by recipe: made once, and dropped when they are too many.
#include "backend/job/mask_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backend/job/layer_masks.h"

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

}  // namespace
}  // namespace spscope
