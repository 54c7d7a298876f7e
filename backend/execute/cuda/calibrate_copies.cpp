#include "backend/execute/cuda/calibrate_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "backend/base/clock.h"
#include "backend/base/median.h"
#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

constexpr std::int64_t kLeastMessageBytes = std::int64_t{16} << 10;
constexpr int kSizeFactor = 4;  // from one size of message to the next
constexpr int kMostAttempts = 3;

// One of the two ranks.
struct End {
  End(Gpu& of, std::size_t num_bytes)
      : gpu(of),
        stream(of.context()),
        sent(of.context(), num_bytes),
        received(of.context(), num_bytes),
        ready(of.context(), EventTiming::kNone),
        posted(of.context(), EventTiming::kNone),
        taken(of.context(), EventTiming::kNone),
        begin(of.context(), EventTiming::kTimed),
        end(of.context(), EventTiming::kTimed) {}

  void record(const Event& event) const {
    const CurrentContext current(gpu.context());
    check(driver().cuEventRecord(event.get(), stream.get()), "cuEventRecord");
  }
  void wait(const Event& event) const {
    const CurrentContext current(gpu.context());
    check(driver().cuStreamWaitEvent(stream.get(), event.get(), 0), "cuStreamWaitEvent");
  }
  // k and v, each half of the bytes.
  void take(const End& partner, std::size_t num_bytes) const {
    const CurrentContext current(gpu.context());
    for (const std::size_t offset : {std::size_t{0}, num_bytes / 2})
      check(driver().cuMemcpyAsync(received.address() + offset, partner.sent.address() + offset, num_bytes / 2,
                                   stream.get()),
            fmt::format("cuMemcpyAsync of {} bytes from device {} to device {}", num_bytes / 2,
                        partner.gpu.context().device(), gpu.context().device()));
  }
  void synchronise() const {
    const CurrentContext current(gpu.context());
    check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
  }

  Gpu& gpu;
  const Stream stream;
  const DeviceMemory sent, received;
  const Event ready, posted, taken, begin, end;
};

class Exchange {
 public:
  Exchange(const Bench& bench, Gpu& other, std::int64_t most_bytes)
      : bench_(bench),
        one_(bench.gpu, static_cast<std::size_t>(most_bytes)),
        two_(other, static_cast<std::size_t>(most_bytes)) {
    // Once without the gate: a driver that loads a kernel for its first copy waits for the streams, and the gate.
    each([&](const End& own, const End& partner) {
      own.take(partner, static_cast<std::size_t>(kLeastMessageBytes));
      own.synchronise();
    });
  }

  // Adds the times of both ranks, and the host's for one of them.
  void run(std::size_t num_bytes, std::vector<double>& ns, std::vector<double>& host_ns) {
    bench_.throw_if_interrupted();
    {
      const ClosedGate closed(bench_.gate);
      each([&](const End& own, const End&) { closed.hold(own.stream.get()); });
      each([](const End& own, const End&) { own.record(own.ready); });
      each([](const End& own, const End& partner) {
        own.wait(partner.ready);
        own.record(own.begin);
      });
      const std::int64_t begin_ns = now_ns();
      each([](const End& own, const End&) { own.record(own.posted); });
      each([&](const End& own, const End& partner) {
        own.wait(partner.posted);
        own.take(partner, num_bytes);
        own.record(own.taken);
      });
      each([](const End& own, const End& partner) { own.wait(partner.taken); });
      host_ns.push_back(static_cast<double>(now_ns() - begin_ns) / 2);
      each([](const End& own, const End&) { own.record(own.end); });
    }
    each([&](const End& own, const End&) {
      own.synchronise();
      ns.push_back(elapsed_ns(own.begin, own.end));
    });
  }

 private:
  template <typename Step>
  void each(const Step& step) {
    step(one_, two_);
    step(two_, one_);
  }

  const Bench& bench_;
  const End one_, two_;
};

}  // namespace

bool reach_each_other(const Gpu& one, const Gpu& two) {
  return enable_peer_access(one.context(), two.context()) && enable_peer_access(two.context(), one.context());
}

PeerCalibration measure_peer(const Bench& bench, Gpu& other, std::int64_t max_message_bytes, double seconds) {
  Exchange exchange(bench, other, max_message_bytes);
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kLeastMessageBytes; bytes <= max_message_bytes; bytes *= kSizeFactor)
    sizes.push_back(bytes);
  std::vector<std::vector<double>> ns(sizes.size());
  std::vector<double> host_ns;
  const auto run = [&](std::size_t i, std::vector<double>& into) {
    exchange.run(static_cast<std::size_t>(sizes[i]), into, host_ns);
  };
  std::vector<double> warm_up_ns;
  for (std::size_t i = 0; i < sizes.size(); ++i) run(i, warm_up_ns);
  PeerCalibration found;
  for (int attempt = 0; attempt < kMostAttempts && !found.link; ++attempt) {
    repeat_rounds(seconds, [&] {
      for (std::size_t i = 0; i < sizes.size(); ++i) run(i, ns[i]);
    });
    std::vector<FitSample> samples;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      samples.push_back({{1, static_cast<double>(sizes[i])}, std::max(1.0, median(ns[i]))});
    const LinearFit fit = fit_non_negative(samples);
    found.link = link_of(samples, fit);
    found.quality = fit.quality;
  }
  found.host_ns_per_hop = measured(host_ns);
  return found;
}

Measured measure_memory_copy(const Bench& bench, std::int64_t num_bytes, double seconds) {
  const CurrentContext current(bench.gpu.context());
  const Stream stream(bench.gpu.context());
  const auto size = static_cast<std::size_t>(num_bytes);
  const DeviceMemory from(bench.gpu.context(), size), to(bench.gpu.context(), size);
  const Event begin(bench.gpu.context(), EventTiming::kTimed), end(bench.gpu.context(), EventTiming::kTimed);
  std::vector<double> gbps;
  // Once without the gate, as in Exchange.
  check(driver().cuMemcpyAsync(to.address(), from.address(), size, stream.get()), "cuMemcpyAsync");
  check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
  const auto copy = [&] {
    bench.throw_if_interrupted();
    {
      const ClosedGate closed(bench.gate);
      closed.hold(stream.get());
      check(driver().cuEventRecord(begin.get(), stream.get()), "cuEventRecord");
      check(driver().cuMemcpyAsync(to.address(), from.address(), size, stream.get()), "cuMemcpyAsync");
      check(driver().cuEventRecord(end.get(), stream.get()), "cuEventRecord");
    }
    check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
    return elapsed_ns(begin, end);
  };
  copy();
  repeat_rounds(seconds, [&] { gbps.push_back(static_cast<double>(num_bytes) / std::max(1.0, copy())); });
  return measured(gbps);
}

}  // namespace spscope::cuda
