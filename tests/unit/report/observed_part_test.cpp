// What a report says of a program that was observed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/report/render.h"

namespace spscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Observation sample() {
  Observation o;
  o.run.command = "torchrun <train>.py";
  o.run.ranks = 2;
  o.run.finished = true;
  o.run.end_ns = 3'000'000;
  o.file = "runs/out.db";
  o.tool_version = "1.0";
  o.work = {{0, "device stream", "kernel", 4, 2'000'000}, {{}, "foreign", "other", 1, 0}};
  o.kernels = {{"gemm", 4, 2'000'000}};
  o.collectors = {{0, "python (process 7)", "cupti", {4'000'000, 0, 3 << 20, 1'234, 5}, ""},
                  {kNoRank, "", "nvml", {1'000'000, 0, 1 << 20, 77, 0}, ""}};
  return o;
}

TEST(ObservedPart, SaysWhatRanAndForHowLong) {
  const std::vector<Observation> observed = {sample()};
  const Report report = make_report({}, {}, observed);
  EXPECT_EQ(report.title, "An observed program");
  const std::string text = render_markdown(report);
  EXPECT_THAT(
      text, AllOf(HasSubstr("observed, all times measured; 2 ranks; 3.00 ms"), HasSubstr("device stream"),
                  HasSubstr("gemm"), HasSubstr("500 us"), HasSubstr("python (process 7)"), HasSubstr("1,234"),
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
  }
  const std::vector<Observation> observed = {o};
  EXPECT_THAT(render_markdown(make_report({}, {}, observed)),
              AllOf(HasSubstr("at least 1,234 | unknown"), HasSubstr("did not collect"),
                    HasSubstr("nvml: there is no NVML"), HasSubstr("3 processes: cupti: no ranges")));
}

TEST(ObservedPart, SaysWhatIsMissing) {
  Observation o = sample();
  o.run.finished = false;
  o.work.clear();
  o.kernels.clear();
  o.recording = {.events_sent = 9, .events_stored = 7, .dropped = 2, .incidents = {{"rank 1, killed: signal 9"}}};
  const std::vector<Observation> observed = {o};
  const std::string text = render_markdown(make_report({}, {}, observed));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Nobody saw the program end"), HasSubstr("2 of 9 events are not in the file"),
                    HasSubstr("Rank 1, killed"), HasSubstr("No event was recorded"), HasSubstr("spscope doctor")));
}

}  // namespace
}  // namespace spscope
