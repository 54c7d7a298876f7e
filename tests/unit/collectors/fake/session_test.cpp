// Sessions on the fake CUPTI of CUDA 11, 12 and 13: each record is handed over once or counted, and every failure is
// explained. What records hold is compared where they become events (cupti_collector_test.cpp).
#include "collectors/cupti/session.h"

#include <gmock/gmock.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <latch>
#include <set>
#include <thread>

#include "backend/base/result.h"
#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/nvtx.h"
#include "tests/unit/collectors/fake/fake_cupti.h"

namespace spscope::cupti {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// What a session handed over. The sink is called by one thread, and read here after stop().
struct Sink {
  std::vector<Record> records;
  RecordSink function() {
    return [this](const Record& record) { records.push_back(record); };
  }
  template <typename Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Record& record : records)
      if (const auto* one = std::get_if<Kind>(&record)) found.push_back(*one);
    return found;
  }
};

bool of_cuda_12_8(const SessionNote& note) { return note.ends_with("CUDA 12.8 or newer"); }

class CuptiSession : public testing::TestWithParam<int> {
 protected:
  SessionOptions options(PoolOptions pool = {.buffer_bytes = 32'768, .num_buffers = 128}) const {
    return {.library = fake_.path(), .pool = pool, .flush_every = std::chrono::milliseconds(10)};
  }
  // Of a program that is no run of a plan: it may begin before the driver does.
  SessionOptions options_of_attach() const {
    SessionOptions attached = options();
    attached.ids = false;
    return attached;
  }
  SessionOptions options_of_any_library() const {
    SessionOptions any = options();
    any.library.clear();
    return any;
  }
  static std::optional<Error> failure_to_start(const SessionOptions& options) {
    return failure_of([&] { Session(options, [](const Record&) {}); });
  }
  static std::vector<SessionNote> notes_of(const SessionOptions& options) {
    return Session(options, [](const Record&) {}).notes();
  }
  void expect_all_accounted_for(const Session& session, const Sink& sink) {
    const SessionLedger ledger = session.ledger();
    EXPECT_EQ(ledger.sent(), fake_.made());
    EXPECT_EQ(ledger.stored(), static_cast<std::int64_t>(sink.records.size()));
    EXPECT_EQ(ledger.decoded.other, 0);
  }
  struct Collected {
    Sink sink;
    SessionLedger ledger;
    std::vector<SessionNote> notes;
  };
  // What a session hands over of this work. Each record is stored or counted as lost.
  Collected collect(const SessionOptions& options, const FakeWork& work, unsigned repeats) {
    Sink sink;
    Session session(options, sink.function());
    fake_.run(work, repeats);
    session.stop();
    expect_all_accounted_for(session, sink);
    return {std::move(sink), session.ledger(), session.notes()};
  }
  // Each correlation at most once in each kind of record.
  template <typename Kind>
  static std::size_t num_distinct(const std::vector<Kind>& records) {
    std::set<std::uint32_t> seen;
    for (const Kind& record : records) EXPECT_TRUE(seen.insert(record.correlation).second) << record.correlation;
    return seen.size();
  }
  FakeCupti fake_{GetParam()};
};

TEST_P(CuptiSession, WhatIsEnabledIsWhatWasAskedForAndNothingStays) {
  constexpr unsigned long long kMarkers = 1ull << 12;
  constexpr unsigned long long kKinds =
      kMarkers | 1 << 1 | 1 << 2 | 1 << 10 | 1 << 17 | 1 << 22 | 1ull << 38 | 1ull << 39;
  const bool chooses = GetParam() == 13;  // calls of the host can be chosen from 12.8 on
  SessionOptions without_markers = options();
  without_markers.markers = false;
  const struct {
    SessionOptions options;
    unsigned long long kinds;
    std::size_t calls, notes;
  } cases[] = {{options(), kKinds | 1 << 4, 0, 0},  // ids come only with calls
               {options_of_attach(), kKinds, chooses ? std::size(kApiCalls) : 0, chooses ? 0u : 1u},
               {without_markers, (kKinds | 1 << 4) & ~kMarkers, 0, 0}};
  for (const auto& [asked, kinds, calls, notes] : cases) {
    {
      const Session session(asked, [](const Record&) {});
      EXPECT_EQ(fake_.enabled(), kinds);
      EXPECT_EQ(fake_.enabled_calls(), static_cast<int>(calls));
      EXPECT_EQ(std::ranges::count_if(session.notes(), of_cuda_12_8), static_cast<std::ptrdiff_t>(notes));
      EXPECT_TRUE(fake_.subscribed());
    }
    EXPECT_EQ(fake_.enabled(), 0u);
    EXPECT_EQ(fake_.enabled_calls(), 0);
    EXPECT_FALSE(fake_.subscribed());
  }
}

TEST_P(CuptiSession, APauseRecordsChosenCallsAlone) {
  Sink sink;
  Session session(options_of_attach(), sink.function());
  const unsigned long long kinds = fake_.enabled();
  const int calls = fake_.enabled_calls();
  fake_.run(kEachKind, 1);
  session.pause();
  EXPECT_EQ(fake_.enabled(), 0u);
  EXPECT_EQ(fake_.enabled_calls(), calls);
  fake_.run(kEachKind, 5);
  session.resume();
  EXPECT_EQ(fake_.enabled(), kinds);
  fake_.run(kEachKind, 1);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(sink.all<KernelRecord>().size(), 2 * kEachKind.launches);
}

TEST_P(CuptiSession, AStopWhileThreadsWorkLosesNoRecord) {
  Sink sink;
  Session session(options({.buffer_bytes = 8'192, .num_buffers = 6, .overflow_bytes = 1'024}), sink.function());
  std::atomic<bool> leave = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!leave) fake_.run(kEachKind, 1);
    });
  while (fake_.made() < 10'000) std::this_thread::yield();
  session.stop();
  leave = true;
  for (std::thread& thread : threads) thread.join();
  expect_all_accounted_for(session, sink);
  const SessionLedger ledger = session.ledger();
  EXPECT_GE(ledger.sent(), 10'000);
  EXPECT_EQ(num_distinct(sink.all<KernelRecord>()), sink.all<KernelRecord>().size());
  EXPECT_EQ(ledger.unreadable(), 0);
}

TEST_P(CuptiSession, WhatCuptiDropsIsCountedThoughNoBufferEverComes) {
  fake_.reset("drop=1");
  EXPECT_GT(collect(options(), kEachKind, 3).ledger.dropped(), 0);
}

TEST_P(CuptiSession, WhenDecodingIsBehindTheProgramDoesNotWaitAndTheRestIsCounted) {
  for (const int max_overflow : {2, 0}) {
    fake_.reset("");
    Sink sink;
    std::latch gate(1);  // the sink does not go on before it is let
    const RecordSink function = sink.function();
    Session session(
        options({.buffer_bytes = 8'192, .num_buffers = 3, .overflow_bytes = 2'048, .max_overflow = max_overflow}),
        [&](const Record& record) {
          gate.wait();
          function(record);
        });
    fake_.run(kEachKind, 1'000);  // would never return if it waited for a buffer
    gate.count_down();
    session.stop();
    expect_all_accounted_for(session, sink);
    const SessionLedger ledger = session.ledger();
    EXPECT_GT(ledger.stored(), 0);
    if (max_overflow > 0) {
      EXPECT_GT(ledger.pool.dropped_records, 0);
      EXPECT_EQ(ledger.pool.refused, 0);
    } else {
      EXPECT_GT(ledger.pool.refused, 0);
      EXPECT_GT(ledger.dropped_by_cupti, 0) << "CUPTI counts what it had no room for";
    }
  }
}

TEST_P(CuptiSession, BuffersThatComeAfterTheStopAreCounted) {
  fake_.reset("late=1");
  Sink sink;
  SessionOptions slow = options();
  slow.flush_every = std::chrono::minutes(10);
  Session session(slow, sink.function());
  fake_.run(kEachKind, 5);  // less than a buffer
  session.stop();
  EXPECT_EQ(session.ledger().sent(), 0);
  // Another session has begun meanwhile, and gets nothing of it.
  Session next(options(), [](const Record&) { ADD_FAILURE(); });
  fake_.deliver_late();
  next.stop();
  EXPECT_EQ(session.ledger().dropped(), fake_.made());
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(next.ledger().sent(), 0);
}

TEST_P(CuptiSession, AFailingSinkEndsTheHandingOverAndTheProgramGoesOn) {
  Sink sink;
  const RecordSink function = sink.function();
  Session session(options(), [&](const Record& record) {
    if (sink.records.size() == 100) throw Error(ErrorCode::kStoreWrite, "the disk is full");
    function(record);
  });
  fake_.run(kEachKind, 200);
  const std::optional<Error> error = failure_of([&] { session.stop(); });
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "the disk is full");
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().stored(), 100);
}

struct Refusal {
  const char* settings;
  std::vector<std::string> words, hints;
};

TEST_P(CuptiSession, EachReasonNotToStartIsNamedWithWhatToDo) {
  const bool names_the_other = GetParam() == 13;
  const Refusal refusals[] = {
      {"other=CUPTI_for_Nsight_Systems",
       {"39, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
        names_the_other ? "\"CUPTI for Nsight Systems\" traces this process already" : ""},
       {names_the_other ? "run without CUPTI for Nsight Systems" : "torch.profiler"}},
      {"fail=cuptiActivityEnable.10:35",
       {fake_.path(), "failed with 35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
       {"NVreg_RestrictProfilingToAdminUsers=0"}},
      {"fail=cuptiSubscribe:15", {"cuptiSubscribe failed with 15"}, {"nvidia-smi"}},
      {"fail=cuptiSubscribe:45", {"cuptiSubscribe failed with 45"}, {"does not trace under WSL"}},
      {"fail=cuptiActivityRegisterTimestampCallback:15",
       {"cuptiActivityRegisterTimestampCallback failed with 15"},
       {"nvidia-smi"}},
      {"fail=cuptiActivityRegisterCallbacks:999", {"failed with 999"}, {"does not reach the CUDA driver"}},
      {"kernel_bytes=304", {"writes kernels as 304 bytes"}, {"newer version of spscope"}},
      {"silent=1", {"does not step over records", fake_.path()}, {"nvidia-smi"}},
      {"silent=start", {"does not step over records", fake_.path()}, {"nvidia-smi"}}};
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.settings);
    fake_.reset(refusal.settings);
    const std::optional<Error> error = failure_to_start(options());
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
    for (const std::string& word : refusal.words) EXPECT_THAT(error->what(), HasSubstr(word));
    for (const std::string& hint : refusal.hints) EXPECT_THAT(error->hint(), HasSubstr(hint));
    EXPECT_EQ(fake_.enabled(), 0u) << "nothing of the session stays behind";
    EXPECT_FALSE(fake_.subscribed());
  }
}

TEST_P(CuptiSession, OneSessionAtATime) {
  const Session first(options(), [](const Record&) {});
  const std::optional<Error> error = failure_to_start(options());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("MULTIPLE_SUBSCRIBERS"));
  EXPECT_TRUE(fake_.subscribed());
}

struct AllFakes {
  FakeCupti of_11{11}, of_12{12}, of_13{13};
  void reset(const char* settings) {
    for (FakeCupti* const fake : {&of_11, &of_12, &of_13}) fake->reset(settings);
  }
};

TEST_P(CuptiSession, ALibraryThatDoesNotReachTheDriverLetsTheNextOneTry) {
  AllFakes fakes;
  for (const char* const settings : {"fail=cuptiSubscribe:15", "silent=1"}) {
    fakes.reset(settings);
    fake_.reset("");
    EXPECT_EQ(Session(options_of_any_library(), [](const Record&) {}).library().path, fake_.path()) << settings;
  }
  fakes.reset("fail=cuptiActivityRegisterCallbacks:15");
  fake_.reset("other=torch.profiler");
  const std::optional<Error> error = failure_to_start(options_of_any_library());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("MULTIPLE_SUBSCRIBERS")) << "no other library could do";
  fakes.reset("fail=cuptiSubscribe:15");
  const std::optional<Error> all = failure_to_start(options_of_any_library());
  ASSERT_TRUE(all);
  EXPECT_THAT(all->what(), HasSubstr("cuptiSubscribe failed with")) << "of the first";
}

TEST_P(CuptiSession, AKindThatCuptiRefusesIsLeftOutWithANote) {
  fake_.reset("fail=cuptiActivityEnable.12:27");
  const Collected collected = collect(options(), kEachKind, 10);
  EXPECT_THAT(collected.notes, Contains(HasSubstr("NVTX ranges: CUPTI")));
  EXPECT_EQ(collected.sink.all<MarkerRecord>().size(), 0u);
  EXPECT_EQ(collected.sink.all<KernelRecord>().size(), 30u);
  fake_.reset("fail=cuptiActivityEnable.12:35");
  EXPECT_THAT(notes_of(options()), Contains(AllOf(HasSubstr("NVTX ranges: CUPTI"), HasSubstr("; the driver keeps"))))
      << "with what to do";
}

// Where the driver may begin later, a library is asked for sizes again once it has records.
TEST_P(CuptiSession, ALibraryThatTellsNoSizesAtTheStartIsAskedThen) {
  fake_.reset("silent=start");
  const Collected known = collect(options_of_attach(), kEachKind, 10);
  EXPECT_EQ(known.ledger.stored(), fake_.made());
  EXPECT_THAT(known.notes, Each(Not(HasSubstr("does not step over"))));

  fake_.reset("silent=1");
  Sink sink;
  Session silent(options_of_attach(), sink.function());
  fake_.run(kEachKind, 10);
  silent.stop();
  EXPECT_EQ(sink.records.size(), 0u);
  EXPECT_GT(silent.ledger().unreadable(), 0);
  EXPECT_THAT(silent.notes(), Contains(AllOf(HasSubstr("does not step over records"), HasSubstr("nvidia-smi"))));

  fake_.reset("silent=start kernel_bytes=304");
  const Collected unknown = collect(options_of_attach(), {.launches = 1}, 5);
  EXPECT_EQ(unknown.ledger.unreadable(), 5);
  EXPECT_THAT(unknown.notes, Contains(HasSubstr("writes kernels as 304 bytes")));
}

TEST_P(CuptiSession, ABufferWithWorkThatHasNotEndedComesWhenItHas) {
  std::atomic<int> kernels = 0;
  Session session(options(), [&](const Record& record) { kernels += std::holds_alternative<KernelRecord>(record); });
  fake_.run({.launches = 1, .unended = 1}, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // five flushes
  EXPECT_EQ(kernels, 0) << "CUPTI keeps it";
  fake_.end_kernels();
  for (int i = 0; i < 5'000 && kernels < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(kernels, 2) << "though no buffer is full";
}

TEST_P(CuptiSession, WorkThatHasNotEndedAtTheStopIsCounted) {
  const Collected collected = collect(options(), {.launches = 3, .unended = 2}, 1);
  EXPECT_EQ(collected.ledger.decoded.undated, 2);
  EXPECT_EQ(collected.sink.all<KernelRecord>().size(), 3u);
}

TEST_P(CuptiSession, NvtxThatDoesNotFindUsIsNoted) {
  const auto has_note = Contains(AllOf(HasSubstr("NVTX_INJECTION64_PATH"), HasSubstr("passes it on")));
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_THAT(notes_of(options_of_attach()), has_note);
  EXPECT_THAT(notes_of(options()), Not(has_note)) << "of a run of a plan";
  setenv("NVTX_INJECTION64_PATH", "whatever", 1);
  EXPECT_THAT(notes_of(options_of_attach()), Not(has_note));
  unsetenv("NVTX_INJECTION64_PATH");
}

// That of this program.
bool give_functions() { return give_to_nvtx(NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)); }

TEST_P(CuptiSession, NvtxGetsCuptiWhileASessionRecordsRanges) {
  Sink sink;
  Session session(options(), sink.function());
  EXPECT_TRUE(give_functions());
  nvtxRangePushA("step");
  nvtxRangePop();
  session.stop();
  expect_all_accounted_for(session, sink);
  const std::vector<MarkerRecord> ranges = sink.all<MarkerRecord>();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].id, ranges[1].id);
  EXPECT_FALSE(give_functions()) << "the session has ended";
  // A CUPTI without ranges, and one that makes programs with NVTX crash.
  for (const char* const settings : {"fail=cuptiActivityEnable.12:27", "version=130000"}) {
    fake_.reset(settings);
    const Session without(options(), [](const Record&) {});
    EXPECT_FALSE(give_functions()) << settings;
  }
  EXPECT_THAT(notes_of(options()), Contains(AllOf(HasSubstr("programs that use NVTX crash with " + fake_.path()),
                                                  HasSubstr("use CUPTI of CUDA 13.0 update 1 or newer"))));
}

TEST_P(CuptiSession, CallsOfTheRuntimeAreRecordedWhereTheyCanBeChosen) {
  Sink sink;
  Session session(options_of_attach(), sink.function());
  session.push_id(7);
  fake_.run({.launches = 1, .copies = 1, .memsets = 1, .queries = 1, .runtime = 1}, 1);
  session.pop_id();
  session.stop();
  EXPECT_EQ(sink.all<ApiRecord>().size(), GetParam() == 13 ? 3u : 0u);
  EXPECT_EQ(sink.all<ExternalCorrelationRecord>().size(), sink.all<ApiRecord>().size());
  for (const ApiRecord& call : sink.all<ApiRecord>()) EXPECT_FALSE(call.driver);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CuptiSession, testing::Values(11, 12, 13));

}  // namespace
}  // namespace spscope::cupti
