// Sessions on the fake CUPTI of CUDA 11, 12 and 13: each record is stored once or counted, and every failure is
// explained.
#include "collectors/cupti/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/cupti/api_calls.h"
#include "collectors/cupti/nvtx.h"
#include "tests/unit/collectors/fake/fake_cupti.h"

namespace spscope::cupti {
namespace {

using testing::HasSubstr;

// What a session handed over. The sink is called by one thread, and read here after stop().
struct Sink {
  std::vector<Record> records;
  std::vector<std::string> kernel_names;
  RecordSink function() {
    return [this](const Record& record) {
      if (const auto* kernel = std::get_if<KernelRecord>(&record)) kernel_names.push_back(kernel->name);
      records.push_back(record);
    };
  }
  template <typename Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Record& record : records)
      if (const auto* one = std::get_if<Kind>(&record)) found.push_back(*one);
    return found;
  }
};

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
  std::optional<Error> refusal(const char* settings) {
    fake_.reset(settings);
    const std::optional<Error> error = failure_of([&] { Session(options(), [](const Record&) {}); });
    // Nothing of the session stays behind.
    EXPECT_EQ(fake_.enabled(), 0u);
    EXPECT_FALSE(fake_.subscribed());
    return error;
  }
  void expect_all_accounted_for(const Session& session, const Sink& sink) {
    const SessionLedger ledger = session.ledger();
    EXPECT_EQ(ledger.sent(), fake_.made());
    EXPECT_EQ(ledger.stored(), static_cast<std::int64_t>(sink.records.size()));
    EXPECT_EQ(ledger.decoded.other, 0);
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

TEST_P(CuptiSession, EveryRecordIsHandedOverOnceWithItsFields) {
  Sink sink;
  Session session(options(), sink.function());
  const std::int64_t begin_ns = now_ns();
  session.push_id(1'234);
  fake_.run(kEachKind, 500);
  session.pop_id();
  session.stop();
  const std::int64_t end_ns = now_ns() + 100;
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().stored(), session.ledger().sent());
  const std::vector<KernelRecord> kernels = sink.all<KernelRecord>();
  ASSERT_EQ(kernels.size(), 1'500u);
  EXPECT_EQ(num_distinct(kernels), 1'500u);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelRecord& kernel = kernels[i];
    const auto correlation = static_cast<std::int32_t>(kernel.correlation);
    EXPECT_EQ(kernel, (KernelRecord{.begin_ns = kernel.begin_ns,
                                    .end_ns = kernel.begin_ns + 100,
                                    .place = {3, 1, 7},
                                    .correlation = kernel.correlation,
                                    .grid = {correlation, 2, 1},
                                    .block = {128, 1, 1},
                                    .registers_per_thread = 96,
                                    .static_shared_bytes = 512,
                                    .dynamic_shared_bytes = 65'536,
                                    .name = kernel.name}));
    EXPECT_LE(begin_ns, kernel.begin_ns);
    EXPECT_LE(kernel.end_ns, end_ns) << "times are on the raw clock of the host";
    EXPECT_EQ(sink.kernel_names[i], (std::vector{"attend_mma", "merge_rows", "copy_rows"}[kernel.correlation % 3]));
  }
  for (const ExternalCorrelationRecord& id : sink.all<ExternalCorrelationRecord>()) EXPECT_EQ(id.external_id, 1'234u);
  EXPECT_EQ(num_distinct(sink.all<ExternalCorrelationRecord>()), 4'000u);
  std::size_t between_gpus = 0;
  for (const CopyRecord& copy : sink.all<CopyRecord>()) {
    EXPECT_EQ(copy.bytes, 4'096);
    EXPECT_EQ(copy.target_device, copy.between_gpus ? 1u : 0u);
    between_gpus += copy.between_gpus;
  }
  EXPECT_EQ(num_distinct(sink.all<CopyRecord>()), 1'500u);
  EXPECT_EQ(between_gpus, 500u);
  EXPECT_EQ(sink.all<MemsetRecord>().at(0).bytes, 256);
  EXPECT_EQ(sink.all<SynchronizationRecord>().at(0).stream, 7u);
  EXPECT_EQ(sink.all<OverheadRecord>().at(0).overhead_kind, 1u << 16);
  EXPECT_STREQ(sink.all<MarkerRecord>().at(0).name, "layer 3");
  EXPECT_EQ(sink.all<MarkerRecord>().size(), 1'000u);
}

TEST_P(CuptiSession, WhatIsEnabledIsWhatWasAskedForAndNothingStays) {
  constexpr unsigned long long kKinds =
      1ull << 1 | 1 << 2 | 1 << 10 | 1 << 12 | 1 << 17 | 1 << 22 | 1ull << 38 | 1ull << 39;
  const bool chooses = GetParam() == 13;  // calls of the host can be chosen from 12.8 on
  const int num_calls = chooses ? static_cast<int>(std::size(kApiCalls)) : 0;
  {
    Session session(options(), [](const Record&) {});
    EXPECT_EQ(fake_.enabled(), kKinds | 1 << 4) << "ids come only with calls";
    EXPECT_EQ(fake_.enabled_calls(), 0);
    EXPECT_EQ(session.notes().size(), 0u);
    EXPECT_TRUE(fake_.subscribed());
  }
  EXPECT_EQ(fake_.enabled(), 0u);
  EXPECT_EQ(fake_.enabled_calls(), 0);
  {
    SessionOptions without_ids = options();
    without_ids.ids = false;
    Session session(without_ids, [](const Record&) {});
    EXPECT_EQ(fake_.enabled(), kKinds);
    EXPECT_EQ(fake_.enabled_calls(), num_calls);
    EXPECT_EQ(std::ranges::count_if(session.notes(),
                                    [](const SessionNote& note) { return note.ends_with("CUDA 12.8 or newer"); }),
              chooses ? 0 : 1);
  }
  EXPECT_EQ(fake_.enabled(), 0u);
  EXPECT_EQ(fake_.enabled_calls(), 0);
  EXPECT_FALSE(fake_.subscribed());
  SessionOptions without = options();
  without.markers = false;
  Session session(without, [](const Record&) {});
  EXPECT_EQ(fake_.enabled() & 1 << 12, 0u);
}

TEST_P(CuptiSession, RecordsOfManyThreadsAreAllHandedOverOnce) {
  Sink sink;
  Session session(options({.buffer_bytes = 8'192, .num_buffers = 6, .overflow_bytes = 1'024}), sink.function());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { fake_.run(kEachKind, 400); });
  for (std::thread& thread : threads) thread.join();
  session.stop();
  expect_all_accounted_for(session, sink);
  const SessionLedger ledger = session.ledger();
  EXPECT_EQ(num_distinct(sink.all<KernelRecord>()), sink.kernel_names.size());
  EXPECT_EQ(ledger.unreadable(), 0);
  EXPECT_EQ(ledger.dropped(), ledger.pool.dropped_records);
}

TEST_P(CuptiSession, RecordsComeWhileTheSessionRunsThoughNoBufferIsFull) {
  std::atomic<int> kernels = 0;
  Session session(options(), [&](const Record& record) { kernels += std::holds_alternative<KernelRecord>(record); });
  fake_.run({.launches = 1}, 2);
  for (int i = 0; i < 5'000 && kernels < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(kernels, 2);
}

TEST_P(CuptiSession, WhatCuptiDropsIsCounted) {
  fake_.reset("drop=7");
  Sink sink;
  Session session(options(), sink.function());
  fake_.run(kEachKind, 300);
  // CUPTI counts from zero again each time it is asked.
  for (int i = 0; i < 5'000 && session.ledger().dropped_by_cupti == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GT(session.ledger().dropped(), 0) << "before the end";
  fake_.run(kEachKind, 300);
  session.stop();
  expect_all_accounted_for(session, sink);
  const SessionLedger ledger = session.ledger();
  EXPECT_EQ(ledger.dropped_by_cupti, fake_.made() / 7);
  EXPECT_EQ(ledger.dropped(), fake_.made() / 7);
}

TEST_P(CuptiSession, WhatCuptiDropsIsCountedThoughNoBufferEverComes) {
  fake_.reset("drop=1");
  Sink sink;
  Session session(options(), sink.function());
  fake_.run(kEachKind, 3);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().dropped(), fake_.made());
  EXPECT_GT(fake_.made(), 0);
}

TEST_P(CuptiSession, KernelsWithoutTimesAreDroppedAndCounted) {
  fake_.reset("untimed=4");
  Sink sink;
  Session session(options(), sink.function());
  fake_.run({.launches = 8}, 50);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().decoded.undated, 100);
  EXPECT_EQ(sink.all<KernelRecord>().size(), 300u);
}

TEST_P(CuptiSession, DamagedBuffersAreReadUpToTheDamage) {
  fake_.reset("damage=2");
  Sink sink;
  Session session(options(), sink.function());
  fake_.run(kEachKind, 500);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_GT(session.ledger().unreadable(), 2);
}

TEST_P(CuptiSession, AStopWhileThreadsWorkLosesNoRecord) {
  Sink sink;
  Session session(options(), sink.function());
  std::atomic<bool> leave = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!leave) fake_.run(kEachKind, 1);
    });
  while (fake_.made() < 2'000) std::this_thread::yield();
  session.stop();
  leave = true;
  for (std::thread& thread : threads) thread.join();
  expect_all_accounted_for(session, sink);
  EXPECT_GE(session.ledger().sent(), 2'000);
}

// A sink that takes long: it does not go on before it is let.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    wake_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool open_ = false;
};

TEST_P(CuptiSession, WhenDecodingIsBehindTheProgramDoesNotWaitAndTheRestIsCounted) {
  for (const int max_overflow : {2, 0}) {
    fake_.reset("");
    Sink sink;
    Gate gate;
    const RecordSink function = sink.function();
    Session session(
        options({.buffer_bytes = 8'192, .num_buffers = 3, .overflow_bytes = 2'048, .max_overflow = max_overflow}),
        [&](const Record& record) {
          gate.wait();
          function(record);
        });
    fake_.run(kEachKind, 1'000);  // would never return if it waited for a buffer
    gate.open();
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

TEST_P(CuptiSession, AnotherTracerIsNamedWhereCuptiSaysIt) {
  const std::optional<Error> error = refusal("other=CUPTI_for_Nsight_Systems");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
  EXPECT_THAT(error->what(), HasSubstr("39, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"));
  if (GetParam() == 13) {
    EXPECT_THAT(error->what(), HasSubstr("\"CUPTI for Nsight Systems\" traces this process already"));
    EXPECT_THAT(error->hint(), HasSubstr("run without CUPTI for Nsight Systems"));
  } else {
    EXPECT_THAT(error->hint(), HasSubstr("torch.profiler"));
  }
}

struct AllFakes {
  FakeCupti of_11{11}, of_12{12}, of_13{13};
  void reset(const char* settings) {
    for (FakeCupti* const fake : {&of_11, &of_12, &of_13}) fake->reset(settings);
  }
};

TEST_P(CuptiSession, ALibraryThatDoesNotReachTheDriverLetsTheNextOneTry) {
  AllFakes fakes;
  fakes.reset("fail=cuptiSubscribe:15");
  fake_.reset("");
  SessionOptions any = options();
  any.library.clear();
  Sink sink;
  Session session(any, sink.function());
  EXPECT_EQ(session.library().path, fake_.path());
  fake_.run({.launches = 2}, 1);
  session.stop();
  EXPECT_EQ(sink.kernel_names.size(), 2u);
  fakes.reset("fail=cuptiActivityRegisterCallbacks:15");
  fake_.reset("other=torch.profiler");
  const std::optional<Error> error = failure_of([&] { Session(any, [](const Record&) {}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("MULTIPLE_SUBSCRIBERS")) << "no other library could do";
  fakes.reset("fail=cuptiSubscribe:15");
  const std::optional<Error> all = failure_of([&] { Session(any, [](const Record&) {}); });
  ASSERT_TRUE(all);
  EXPECT_THAT(all->what(), HasSubstr("cuptiSubscribe failed with")) << "of the first";
}

TEST_P(CuptiSession, TheLibraryThatIsMappedIsTaken) {
  std::ifstream file("/proc/self/maps");
  const std::string maps(std::istreambuf_iterator<char>(file), {});
  const std::string path = library_candidates("").front();
  EXPECT_THAT(path, HasSubstr("/libcupti.so"));
  EXPECT_THAT(maps, HasSubstr(std::filesystem::canonical(path).string()));
}

TEST_P(CuptiSession, OneSessionAtATime) {
  Session first(options(), [](const Record&) {});
  const std::optional<Error> error = failure_of([&] { Session(options(), [](const Record&) {}); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("MULTIPLE_SUBSCRIBERS"));
  EXPECT_TRUE(fake_.subscribed());
}

TEST_P(CuptiSession, MissingPrivilegesAreExplained) {
  const std::optional<Error> error = refusal("fail=cuptiActivityEnable.10:35");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr(fake_.path()));
  EXPECT_THAT(error->what(), HasSubstr("failed with 35, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
  EXPECT_THAT(error->hint(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST_P(CuptiSession, EachCallThatMayFailAtTheStartIsNamed) {
  for (const std::string call :
       {"cuptiSubscribe", "cuptiActivityRegisterTimestampCallback", "cuptiActivityRegisterCallbacks"}) {
    const std::optional<Error> error = refusal(("fail=" + call + ":15").c_str());
    ASSERT_TRUE(error) << call;
    EXPECT_THAT(error->what(), HasSubstr(call + " failed with 15"));
    EXPECT_THAT(error->hint(), HasSubstr("nvidia-smi"));
  }
}

TEST_P(CuptiSession, AKindThatCuptiRefusesIsLeftOutWithANote) {
  fake_.reset("fail=cuptiActivityEnable.12:27");
  Sink sink;
  Session session(options(), sink.function());
  fake_.run(kEachKind, 10);
  session.stop();
  EXPECT_THAT(session.notes(), testing::Contains(HasSubstr("NVTX ranges: CUPTI")));
  fake_.reset("fail=cuptiActivityEnable.12:35");
  EXPECT_THAT(Session(options(), [](const Record&) {}).notes(),
              testing::Contains(testing::AllOf(HasSubstr("NVTX ranges: CUPTI"), HasSubstr("; the driver keeps"))))
      << "with what to do";
  EXPECT_EQ(sink.all<MarkerRecord>().size(), 0u);
  EXPECT_EQ(sink.all<KernelRecord>().size(), 30u);
}

TEST_P(CuptiSession, KernelsOfASizeThatNobodyKnowsAreRefused) {
  const std::optional<Error> error = refusal("kernel_bytes=304");
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("writes kernels as 304 bytes"));
  EXPECT_THAT(error->hint(), HasSubstr("newer version of spscope"));
}

TEST_P(CuptiSession, ALibraryThatTellsNoSizesIsRefusedWhereTheDriverIsAtWork) {
  for (const char* const settings : {"silent=1", "silent=start"}) {
    const std::optional<Error> error = refusal(settings);
    ASSERT_TRUE(error) << settings;
    EXPECT_EQ(error->code(), ErrorCode::kCannotCollect);
    EXPECT_THAT(error->what(), testing::AllOf(HasSubstr("does not step over records"), HasSubstr(fake_.path())));
    EXPECT_THAT(error->hint(), HasSubstr("nvidia-smi"));
  }
}

TEST_P(CuptiSession, ALibraryThatTellsNoSizesLetsTheNextOneTry) {
  AllFakes fakes;
  fakes.reset("silent=1");
  fake_.reset("");
  SessionOptions any = options();
  any.library.clear();
  EXPECT_EQ(Session(any, [](const Record&) {}).library().path, fake_.path());
}

TEST_P(CuptiSession, ALibraryThatTellsSizesOnlyOnceItHasRecordsIsAskedThen) {
  fake_.reset("silent=start");
  Sink sink;
  Session session(options_of_attach(), sink.function());
  fake_.run(kEachKind, 10);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().stored(), fake_.made());
  EXPECT_THAT(session.notes(), testing::Each(testing::Not(HasSubstr("does not step over"))));
}

TEST_P(CuptiSession, WhatALibraryWritesThatTellsNoSizesIsUnreadable) {
  fake_.reset("silent=1");
  Sink sink;
  Session session(options_of_attach(), sink.function());
  fake_.run(kEachKind, 10);
  session.stop();
  EXPECT_EQ(sink.records.size(), 0u);
  EXPECT_GT(session.ledger().unreadable(), 0);
  EXPECT_THAT(session.notes(),
              testing::Contains(testing::AllOf(HasSubstr("does not step over records"), HasSubstr("nvidia-smi"))));
}

TEST_P(CuptiSession, KernelsThatTurnOutToBeOfASizeThatNobodyKnowsAreUnreadable) {
  fake_.reset("silent=start kernel_bytes=304");
  Sink sink;
  Session session(options_of_attach(), sink.function());
  fake_.run({.launches = 1}, 5);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().unreadable(), 5);
  EXPECT_THAT(session.notes(), testing::Contains(HasSubstr("writes kernels as 304 bytes")));
}

TEST_P(CuptiSession, ABufferWithWorkThatHasNotEndedComesWhenItHas) {
  std::atomic<int> kernels = 0;
  Session session(options(), [&](const Record& record) { kernels += std::holds_alternative<KernelRecord>(record); });
  fake_.run({.launches = 1, .unended = 1}, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // five flushes
  EXPECT_EQ(kernels, 0) << "CUPTI keeps it";
  fake_.end_kernels();
  for (int i = 0; i < 5'000 && kernels < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(kernels, 2);
}

TEST_P(CuptiSession, WorkThatHasNotEndedAtTheStopIsCounted) {
  Sink sink;
  Session session(options(), sink.function());
  fake_.run({.launches = 3, .unended = 2}, 1);
  session.stop();
  expect_all_accounted_for(session, sink);
  EXPECT_EQ(session.ledger().decoded.undated, 2);
  EXPECT_EQ(sink.kernel_names.size(), 3u);
}

TEST_P(CuptiSession, NvtxThatDoesNotFindUsIsNoted) {
  const auto notes = [](const SessionOptions& started) { return Session(started, [](const Record&) {}).notes(); };
  const auto has_note =
      testing::Contains(testing::AllOf(HasSubstr("NVTX_INJECTION64_PATH"), HasSubstr("passes it on")));
  unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_THAT(notes(options_of_attach()), has_note);
  EXPECT_THAT(notes(options()), testing::Not(has_note)) << "of a run of a plan";
  setenv("NVTX_INJECTION64_PATH", "whatever", 1);
  EXPECT_THAT(notes(options_of_attach()), testing::Not(has_note));
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
  fake_.reset("fail=cuptiActivityEnable.12:27");
  const Session without(options(), [](const Record&) {});
  EXPECT_FALSE(give_functions()) << "it has no ranges";
}

TEST_P(CuptiSession, NvtxDoesNotGetTheCuptiWithWhichItCrashes) {
  fake_.reset("version=130000");
  const Session session(options(), [](const Record&) {});
  EXPECT_FALSE(give_functions());
  EXPECT_THAT(session.notes(),
              testing::Contains(testing::AllOf(HasSubstr("programs that use NVTX crash with " + fake_.path()),
                                               HasSubstr("use CUPTI of CUDA 13.0 update 1 or newer"))));
}

TEST_P(CuptiSession, CallsOfTheRuntimeAreRecordedWhereTheyCanBeChosen) {
  Sink sink;
  SessionOptions without_ids = options();
  without_ids.ids = false;
  Session session(without_ids, sink.function());
  session.push_id(7);
  fake_.run({.launches = 1, .copies = 1, .memsets = 1, .queries = 1, .runtime = 1}, 1);
  session.pop_id();
  session.stop();
  EXPECT_EQ(sink.all<ApiRecord>().size(), GetParam() == 13 ? 3u : 0u);
  EXPECT_EQ(sink.all<ExternalCorrelationRecord>().size(), sink.all<ApiRecord>().size());
  for (const ApiRecord& call : sink.all<ApiRecord>()) EXPECT_FALSE(call.driver);
}

TEST_P(CuptiSession, TimeOfThePushingThreadsIsMeasured) {
  Session session(options(), [](const Record&) {});
  EXPECT_EQ(session.callback_ns(), 0);
  for (int i = 0; i < 1'000; ++i) {
    session.push_id(7);
    session.pop_id();
  }
  EXPECT_GT(session.callback_ns(), 0);
  EXPECT_LT(session.callback_ns(), 1'000'000'000);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CuptiSession, testing::Values(11, 12, 13));

}  // namespace
}  // namespace spscope::cupti
