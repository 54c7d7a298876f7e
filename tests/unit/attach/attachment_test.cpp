#include "backend/attach/attachment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "backend/record/shared_trace_sink.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// The process is the test itself. What it says makes the thread fail whenever it reads it.
TEST(Attachment, EachEventIsInTheShardOrCountedThereWhenItsThreadFails) {
  const TemporaryFolder folder;
  CollectingNote collection;
  collection.collection = std::string(32, 'a');
  AttachSetup setup;
  setup.on_note = [](const std::string&, const std::string& text) {
    if (text == "fail") throw std::runtime_error("it failed");
  };
  const AttachedProgram program = {.collection = collection, .clock = {}, .setup = setup, .changed = {}};
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const int memory = ::memfd_create("attachment_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(memory, sizeof(SharedTrace)), 0);
  void* const trace = ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  ASSERT_NE(trace, MAP_FAILED);
  SharedTraceSink sink(*static_cast<SharedTrace*>(trace));
  EventRing& ring = sink.ring({.kind = TrackKind::kDeviceStream, .name = "stream 1"}, 256);
  for (std::int64_t i = 0; i < 100; ++i) ring.push(RingRecord::of(WorkEvent{{10 * i, 10 * i + 5}}));
  sink.note("fail");
  {
    Attachment attachment(std::make_unique<AttachedProcess>(ends[0], memory, ::getpid(), "a process", -1,
                                                            static_cast<SharedTrace*>(trace)),
                          folder / "process.db", program);
    while (!attachment.is_finished()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::close(ends[1]);
  Database shard = Database::open_shard(folder / "process.db");
  EXPECT_EQ(EventReader(shard).ledger(), (std::vector<LedgerRecord>{{TrackId{1}, 100, 0, 100, 0, 0}}));
  Statement incident(shard, "SELECT message FROM incident");
  ASSERT_TRUE(incident.step());
  EXPECT_EQ(incident.text(0),
            "a process: attach stopped following it, and dropped the 100 events that it had not read: it failed");
}

TEST(ProcessNames, AreUniqueHoweverManyThereAre) {
  ProcessNames names;
  EXPECT_EQ(names.unique("a (process 1)"), "a (process 1)");
  EXPECT_EQ(names.unique("a (process 1)"), "a (process 1, program 2)");
  for (std::size_t i = 1; i < ProcessNames::kMost; ++i) names.unique(std::to_string(i));
  EXPECT_EQ(names.unique("b (process 2)"), "b (process 2, program 65537)");
  EXPECT_EQ(names.unique("b (process 2)"), "b (process 2, program 65538)");
  EXPECT_EQ(names.unique("a (process 1)"), "a (process 1, program 3)");
}

}  // namespace
}  // namespace spscope
