#include "backend/store/chunk/chunk_times.h"

#include <array>
#include <cstring>

#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/clock_ticks.h"
#include "backend/store/chunk/number_coder.h"

namespace spscope {

namespace {

using chunk_columns::corrupt;
using chunk_columns::unzigzag;
using chunk_columns::zigzag;

enum Column { kLabel, kGap, kDuration, kEntry, kMove, kTransferEnd };
constexpr std::size_t kMaxSteps = 5;
constexpr std::uint64_t kMaxModels = 64;

std::int64_t number(std::uint64_t x) { return static_cast<std::int64_t>(x); }
std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }

// Steps of an event's times, as chunk_times.h names them; 2 of spans, 5 of collectives.
using Steps = std::array<std::int64_t, kMaxSteps>;
constexpr std::size_t steps_of(std::size_t num_columns) { return num_columns - 1; }
// The step that leads to the end, from where the next event goes on.
constexpr std::size_t end_step(std::size_t num_steps) { return num_steps == kMaxSteps ? 3 : 1; }

Steps steps_at(const TimeColumns& columns, std::size_t i) {
  const std::int64_t gap = number(unzigzag(columns[kGap][i]));
  const std::uint64_t duration = columns[kDuration][i];
  if (columns.size() == kEntry) return {gap, number(duration)};
  const std::uint64_t entry = unzigzag(columns[kEntry][i]), move = unzigzag(columns[kMove][i]);
  return {gap, number(entry), number(duration - move - entry), number(move),
          number(unzigzag(columns[kTransferEnd][i]))};
}

void set_steps(TimeColumns& columns, std::size_t i, const Steps& steps) {
  columns[kGap][i] = zigzag(bits(steps[0]));
  columns[kDuration][i] = bits(steps[1]);
  if (columns.size() == kEntry) return;
  columns[kEntry][i] = zigzag(bits(steps[1]));
  columns[kDuration][i] += bits(steps[2]) + bits(steps[3]);
  columns[kMove][i] = zigzag(bits(steps[3]));
  columns[kTransferEnd][i] = zigzag(bits(steps[4]));
}

// What is learnt about a chunk.
class Models {
 public:
  Models(std::uint64_t num_labels, std::size_t num_steps)
      : by_label_(num_labels <= kMaxModels), num_steps_(num_steps), ticks_((by_label_ ? num_labels : 1) * num_steps) {}

  NumberModel label;
  NumberModel& ticks(std::uint64_t of, std::size_t step) { return ticks_[(by_label_ ? of : 0) * num_steps_ + step]; }
  NumberModel& rest(int eighth) { return rests_[static_cast<std::size_t>(eighth)]; }

 private:
  bool by_label_;
  std::size_t num_steps_;
  std::vector<NumberModel> ticks_;
  std::array<NumberModel, 8> rests_;
};

// The label of each event in turn.
class LabelWalk {
 public:
  explicit LabelWalk(std::uint64_t num_labels) : num_labels_(num_labels), last_(num_labels - 1) {}
  std::uint64_t next(std::uint64_t step) {
    last_ += step + 1;
    if (last_ >= num_labels_) last_ -= num_labels_;
    return last_;
  }

 private:
  std::uint64_t num_labels_, last_;
};

std::uint64_t tick_of(const TimeColumns& columns) {
  const std::size_t num_steps = steps_of(columns.size());
  std::vector<std::int64_t> differences;
  differences.reserve(columns[kLabel].size() * num_steps);
  for (std::size_t i = 0; i < columns[kLabel].size(); ++i) {
    const Steps steps = steps_at(columns, i);
    differences.insert(differences.end(), steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(num_steps));
  }
  return find_tick(differences);
}

void append(std::vector<std::uint8_t>& out, const void* from, std::size_t bytes) {
  const auto* begin = static_cast<const std::uint8_t*>(from);
  out.insert(out.end(), begin, begin + bytes);
}

}  // namespace

void append_times(const TimeColumns& columns, std::uint64_t num_labels, std::vector<std::uint8_t>& out) {
  const std::size_t num_steps = steps_of(columns.size()), count = columns[kLabel].size();
  const std::uint64_t tick = tick_of(columns);
  Models models(num_labels, num_steps);
  NumberEncoder encoder;
  for (const std::uint64_t step : columns[kLabel]) encoder.put(models.label, number(step));
  LabelWalk labels(num_labels);
  ClockTicks clock(tick);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t label = labels.next(columns[kLabel][i]);
    const Steps steps = steps_at(columns, i);
    ClockTicks at = clock;
    for (std::size_t s = 0; s < num_steps; ++s) {
      const ClockTicks before = at;
      const Ticks step = at.step(steps[s]);
      encoder.put(models.ticks(label, s), step.ticks);
      encoder.put(models.rest(before.eighth(step.ticks)), step.rest_ns);
      if (s == end_step(num_steps)) clock = at;
    }
  }
  encoder.finish();
  const auto coded_bytes = static_cast<std::uint32_t>(encoder.coded().size());
  append(out, &tick, sizeof tick);
  append(out, &coded_bytes, sizeof coded_bytes);
  append(out, encoder.coded().data(), encoder.coded().size());
  append(out, encoder.plain().data(), encoder.plain().size());
}

TimeColumns read_times(std::span<const std::uint8_t> data, std::size_t num_columns, std::size_t count,
                       std::uint64_t num_labels) {
  std::uint64_t tick;
  std::uint32_t coded_bytes;
  if (data.size() < sizeof tick + sizeof coded_bytes) corrupt("it ends early");
  std::memcpy(&tick, data.data(), sizeof tick);
  std::memcpy(&coded_bytes, data.data() + sizeof tick, sizeof coded_bytes);
  data = data.subspan(sizeof tick + sizeof coded_bytes);
  if (coded_bytes > data.size()) corrupt("a column is too large");
  const std::size_t num_steps = steps_of(num_columns);
  NumberDecoder decoder(data.first(coded_bytes), data.subspan(coded_bytes));
  Models models(num_labels, num_steps);
  TimeColumns columns(num_columns, std::vector<std::uint64_t>(count));
  for (std::uint64_t& step : columns[kLabel]) {
    step = bits(decoder.get(models.label));
    if (step >= num_labels) corrupt("an event has a label that there is not");
  }
  LabelWalk labels(num_labels);
  ClockTicks clock(tick);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t label = labels.next(columns[kLabel][i]);
    Steps steps{};
    ClockTicks at = clock;
    for (std::size_t s = 0; s < num_steps; ++s) {
      Ticks step;
      step.ticks = decoder.get(models.ticks(label, s));
      step.rest_ns = decoder.get(models.rest(at.eighth(step.ticks)));
      steps[s] = at.step(step);
      if (s == end_step(num_steps)) clock = at;
    }
    set_steps(columns, i, steps);
  }
  if (!decoder.at_end()) corrupt("its times are not as long as they are told");
  return columns;
}

}  // namespace spscope
