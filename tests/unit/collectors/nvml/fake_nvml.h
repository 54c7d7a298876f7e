// The fake NVML, opened, with its controls (tests/fake_nvml/control.h); and a sink that keeps samples.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backend/base/check.h"
#include "backend/record/trace_sink.h"
#include "tests/fake_nvml/control.h"

namespace spscope::nvml {

class FakeNvml {
 public:
  // "nvidia-ml-old" is of a driver of before R535.
  explicit FakeNvml(const std::string& name = "nvidia-ml")
      : path_(std::string(SPSCOPE_FAKE_NVML_FOLDER) + "/lib" + name + ".so.1"),
        library_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    SPSCOPE_CHECK(library_ != nullptr);
    reset("");
  }
  ~FakeNvml() { EXPECT_EQ(users(), 0) << "whoever initialised NVML shuts it down"; }
  const std::string& path() const { return path_; }
  void reset(const char* settings) { control<decltype(&spscope_fake_nvml_reset)>("spscope_fake_nvml_reset")(settings); }
  int users() { return control<decltype(&spscope_fake_nvml_users)>("spscope_fake_nvml_users")(); }
  long long calls(const char* call) {
    return control<decltype(&spscope_fake_nvml_calls)>("spscope_fake_nvml_calls")(call);
  }

 private:
  template <typename Function>
  Function control(const char* name) {
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    SPSCOPE_CHECK(function != nullptr);
    return function;
  }
  std::string path_;
  void* library_;
};

class SampleSink final : public TraceSink {
 public:
  struct Kept {
    Kept(const Track& of, std::size_t capacity) : track(of), ring(capacity) {}
    const Track track;
    EventRing ring;
    std::int64_t dropped = 0;
    std::vector<CounterSample> samples = {};
  };

  EventRing& ring(const Track& track, std::size_t capacity) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(track.kind, TrackKind::kCounter);
    Kept& kept = kept_.try_emplace(track.name, track, capacity).first->second;
    EXPECT_EQ(kept.track, track);
    return kept.ring;
  }
  NameId name(std::string_view) override { return 0; }
  WorkDetailId detail(const WorkDetail&) override { return 0; }
  void missed(const Track& track, std::int64_t dropped, std::int64_t) override { kept(track.name).dropped += dropped; }
  void set_clock(const ClockFit&) override {}

  // What came until now.
  std::vector<CounterSample> samples(const std::string& track) {
    const std::lock_guard lock(mutex_);
    if (!kept_.contains(track)) return {};
    Kept& kept = kept_.at(track);
    while (!kept.ring.waiting().empty()) {
      for (const RingRecord& record : kept.ring.waiting()) {
        EXPECT_EQ(record.kind, RingKind::kCounter);
        kept.samples.push_back(record.counter());
      }
      kept.ring.release(kept.ring.waiting().size());
    }
    return kept.samples;
  }
  std::vector<double> values(const std::string& track) {
    std::vector<double> values;
    for (const CounterSample& sample : samples(track)) values.push_back(sample.value);
    return values;
  }
  std::vector<std::string> tracks() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, kept] : kept_) names.push_back(name);
    return names;
  }
  Kept& kept(const std::string& track) { return kept_.at(track); }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

}  // namespace spscope::nvml
