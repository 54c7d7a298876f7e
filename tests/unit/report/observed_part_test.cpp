// What a report says of a program that was observed.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "backend/report/observed_part.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Observation sample() {
  Observation o;
  o.run.command = "torchrun <train>.py";
  o.ranks = 2;
  o.run.finished = true;
  o.run.end_ns = 3'000'000;
  o.file = "runs/out.db";
  o.tool_version = "1.0";
  o.first_event_ns = 200'000;
  o.last_event_ns = 2'700'000;
  o.work = {{0, "device stream", "kernel", 4, 2'000'000}, {{}, "NCCL", "transfer", 1, 0}};
  o.kernels = {{"gemm", 4, 2'000'000}};
  o.operations = {{"AllReduce RING SIMPLE", 4, 0, 8'000'000, 1'600'000, 4, 300'000, 1'300'000}};
  o.counters = {{"GPU 0 SM clock", "MHz", 1'200, 1'975.5, 1'980},
                {"GPU 0 temperature", "C", 41, 50.25, 63},
                {"GPU 0 energy", "J", 0, 70, 140}};
  o.collectors = {{0, "python (process 7)", "cupti", {4'000'000, 0, 3 << 20, 1'234, 5}, ""},
                  {kNoRank, "", "nvml", {1'000'000, 0, 1 << 20, 77, 0}, ""}};
  return o;
}

std::string text_of(const Observation& observed) { return render_markdown(make_report({}, {}, {&observed, 1})); }

TEST(ObservedPart, SaysWhatRanAndForHowLong) {
  const std::vector<Observation> observed = {sample()};
  const Report report = make_report({}, {}, observed);
  EXPECT_EQ(report.title, "An observed program");
  EXPECT_THAT(
      render_markdown(report),
      AllOf(HasSubstr("observed, all times measured; 2 ranks; the program ran 3.00 ms; 2.50 ms from its first to "
                      "its last event"),
            HasSubstr("| rank 0 | device stream |"), HasSubstr("| no rank | NCCL | transfer |"), HasSubstr("gemm"),
            HasSubstr("500 us"), HasSubstr("python (process 7)"), HasSubstr("1,234 | 5 |"), HasSubstr("77 | none |"),
            HasSubstr("4.00 ms"), HasSubstr("all of the host"), Not(HasSubstr(" nan")), Not(HasSubstr(" inf"))));
  EXPECT_THAT(render_html(report), AllOf(HasSubstr("torchrun &lt;train&gt;.py"), Not(HasSubstr("<train>"))));
}

TEST(ObservedPart, SaysWhatCollectorsDidNotCollect) {
  Observation o = sample();
  o.collectors[0].outcome = CollectorOutcome::kCutOff;
  o.collectors[0].notes = "cupti: no ranges";
  o.collectors[1].outcome = CollectorOutcome::kNotStarted;
  o.collectors[1].notes = "nvml: there is no NVML";
  for (int process : {8, 9}) {
    o.collectors.push_back(o.collectors[0]);
    o.collectors.back().process = fmt::format("python (process {})", process);
    o.collectors.back().cost.dropped = 0;
  }
  EXPECT_THAT(text_of(o), AllOf(HasSubstr("at least 1,234 | at least 5 |"), HasSubstr("at least 1,234 | unknown |"),
                                HasSubstr("did not collect"), HasSubstr("nvml: there is no NVML"),
                                HasSubstr("3 processes: cupti: no ranges")));
}

TEST(ObservedPart, HasOperationsOfNcclWithWhatTheyWaitedFor) {
  Observation observed = sample();
  EXPECT_THAT(text_of(observed),
              AllOf(HasSubstr("| operation | count | bytes | total | queued | on device | mean |"),
                    HasSubstr("| AllReduce RING SIMPLE | 4 | 8.00 MB | 1.60 ms | 300 us | 1.30 ms | 400 us |"),
                    HasSubstr("Queued: from the call"), Not(HasSubstr("on the device is not known"))));
  // Those of copy engines are in no sum of what the device did.
  observed.operations.push_back({"AllGather CE", 3, 0, 30, 600, 0, 0, 0});
  EXPECT_THAT(text_of(observed), AllOf(HasSubstr("| AllGather CE | 3 | 30 B | 600 ns | – | – | 200 ns |"),
                                       HasSubstr("For 3 of the 7 that ended, nobody knows when the device began")));
  // An NCCL that does not tell when its device began, and an operation that hangs.
  observed.operations = {{"Send", 2, 1, 300, 800'000, 0, 0, 0}};
  EXPECT_THAT(text_of(observed),
              AllOf(HasSubstr("| operation | count | not ended | bytes | total | mean |"),
                    HasSubstr("| Send | 2 | 1 | 300 B | 800 us | 400 us |"), Not(HasSubstr("Queued"))));
}

// One sentence says who waits for whom, or why that is not known.
TEST(ObservedPart, SaysWhoWaitsForWhom) {
  Observation o = sample();
  o.last_event_ns = 1'000'000, o.first_event_ns = 0, o.ranks = 8;
  const auto skew = [](std::vector<LastRank> last) { return ArrivalSkew{100, 8, 8, std::move(last)}; };
  ArrivalSkew nameless;
  nameless.nameless_communicators = 4;
  const ArrivalSkew two = {100, 2, 8, {{1, 100, 120'000, {}}}};
  const std::vector<std::pair<ArrivalSkew, std::string>> rows = {
      {skew({{5, 93, 840'000, 1.11}, {0, 7, 60'000, 1}}),
       "The other ranks wait for rank 5 in NCCL's collectives, 12 % of the time: it came last to 93 of 100. Its "
       "kernels "
       "take 11 % longer than those of the other ranks: it has more to compute, or is slower."},
      {skew({{5, 93, 840'000, 0.9}}),
       "Its kernels take 10 % less time than those of the other ranks, so something else"},
      {skew({{5, 40, 84'000, 1}, {1, 30, 63'000, 1}, {2, 30, 63'000, 1}}),
       "Ranks wait for each other in NCCL's collectives, 3.0 % of the time. No rank causes half of it; rank 5 causes "
       "most, "
       "40 %."},
      {skew({{5, 93, 7'000, 1}}),
       "No rank holds up the others: in 100 collectives of NCCL they wait 0.1 % of the time."},
      {two,
       "The other rank waits for rank 1 in NCCL's collectives, 12 % of the time: it came last to 100 of 100. The "
       "file "
       "has 2 of 8 ranks: what these wait for the others is not known."},
      {nameless,
       "not known: processes have no ranks of their own, and NCCL numbers them anew in each of its 4 communicators."},
      {{},
       "Who waits for whom is not known: in no collective of NCCL are the times of two ranks on their devices known."}};
  for (const auto& [found, words] : rows) {
    o.skew = found;
    EXPECT_THAT(who_waits_text(o), HasSubstr(words));
    EXPECT_THAT(text_of(o), HasSubstr(words));
  }
  // The time between windows is nobody's wait.
  o.skew = two;
  o.run.windows = {{0, 200'000}, {900'000, 2'000'000}};
  EXPECT_THAT(who_waits_text(o), HasSubstr("The other rank waits for rank 1 in NCCL's collectives, 40 % of the time"));
  o.skew = {};
  o.operations[0].begun = 0;
  EXPECT_THAT(who_waits_text(o), HasSubstr("NCCL did not tell when its operations began on the device"));
  o.operations.clear();
  EXPECT_THAT(who_waits_text(o), HasSubstr("not known: no operation of NCCL was recorded."));
  o.collectors.push_back({0, "python", "nccl", {}, "nccl: too old", CollectorOutcome::kNotStarted});
  EXPECT_THAT(who_waits_text(o), HasSubstr("not known, because NCCL was not watched: nccl: too old."));
}

TEST(ObservedPart, HasCountersWithTheirUnits) {
  EXPECT_THAT(text_of(sample()), AllOf(HasSubstr("| GPU 0 SM clock | 1,200 MHz | 1,976 MHz | 1,980 MHz |"),
                                       HasSubstr("| GPU 0 temperature | 41 °C | 50.2 °C | 63 °C |"),
                                       HasSubstr("| GPU 0 energy, in all | – | – | 140 J |")));
}

TEST(ObservedPart, SaysWhatIsMissing) {
  Observation o = sample();
  o.ranks = 0;
  o.run.finished = false;
  o.work.clear();
  o.kernels.clear();
  o.operations.clear();
  o.counters.clear();
  o.recording = {.events_sent = 9, .events_stored = 7, .dropped = 2, .incidents = {{"rank 1, killed: signal 9"}}};
  EXPECT_THAT(text_of(o), AllOf(HasSubstr("all times measured; no ranks"), HasSubstr("Nobody saw the program end"),
                                HasSubstr("2 of 9 events are not in the file"), HasSubstr("Rank 1, killed"),
                                HasSubstr("No event was recorded"), HasSubstr("spscope doctor"),
                                Not(HasSubstr("### NCCL")), Not(HasSubstr("GPUs"))));
}

}  // namespace
}  // namespace spscope
