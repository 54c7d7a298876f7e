// Files of a session: their names, and what is left of one that was closed.
#include "gui/session/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <thread>

#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

constexpr int kAll = std::numeric_limits<int>::max();

// Nobody answers: files stay as they are while they are read.
std::unique_ptr<Session> session_of(std::initializer_list<const char*> paths) {
  auto session = std::make_unique<Session>(
      Settings{}, 0, [] {}, kAll);
  for (const char* path : paths) session->open(path);
  return session;
}

TEST(Session, EachFileHasAnotherName) {
  const auto session = session_of({"/x/p/run.db", "/y/p/run.db", "/z/p/run.db", "/p/run.db", "/run.db", "/z/other.db"});
  std::set<std::string> names;
  for (const auto& file : session->files()) {
    names.insert(file->name);
    EXPECT_TRUE(("/" + file->path).ends_with("/" + file->name)) << file->path << ": " << file->name;
  }
  EXPECT_EQ(names.size(), 6U);
  EXPECT_EQ(session->files()[2]->name, "z/p/run.db");
  EXPECT_EQ(session->files()[5]->name, "other.db");
}

TEST(Session, WhoKeepsKeysIsToldOfEachClosedFile) {
  const auto session = session_of({"/a.db", "/b.db", "/c.db"});
  std::vector<StrategyKey> kept = {{0, "ring"}, {1, "ring"}, {2, "ring"}};
  session->on_close([&](int file) { std::erase_if(kept, [file](StrategyKey& key) { return !outlives(key, file); }); });
  Scope scope;
  scope.strategies = kept;
  session->set_scope(scope);
  session->close(1);
  EXPECT_EQ(kept, (std::vector<StrategyKey>{{0, "ring"}, {1, "ring"}}));
  EXPECT_EQ(session->scope().strategies, kept);
  EXPECT_EQ(session->files()[1]->name, "c.db");
  session->close(0);
  EXPECT_EQ(kept, (std::vector<StrategyKey>{{0, "ring"}}));
}

TEST(Session, WhatIfFollowsItsFile) {
  const auto session = session_of({"/a.db", "/b.db", "/c.db"});
  Scope scope;
  scope.what_if = WhatIf{{2, "ring"}, TimeEditKind::kNoLatency};
  session->set_scope(scope);
  session->close(0);
  EXPECT_EQ(session->scope().what_if, (WhatIf{{1, "ring"}, TimeEditKind::kNoLatency}));
  session->look_at(1);
  EXPECT_TRUE(session->scope().what_if.has_value());
  session->look_at(0);
  EXPECT_FALSE(session->scope().what_if.has_value());
  session->go_back();
  EXPECT_EQ(session->scope().what_if, (WhatIf{{1, "ring"}, TimeEditKind::kNoLatency}));
  session->close(1);
  EXPECT_FALSE(session->scope().what_if.has_value());
}

TEST(Session, TheActiveFileIsTheOneThatIsLookedAt) {
  const auto session = session_of({"/a.db", "/b.db"});
  EXPECT_EQ(session->active_file(), 0);
  session->look_at(1);
  EXPECT_EQ(session->active_file(), 1);
  session->close(0);
  EXPECT_EQ(session->active_file(), 0);
}

TEST(Session, RanksWaitLongestWhereTheirMeanWaitIsLongest) {
  std::vector<StrategyResult> results(3);
  std::vector<Chosen> chosen;
  for (StrategyResult& result : results) {
    result.makespan_ns = 1000;
    chosen.push_back({{}, nullptr, nullptr, &result, ""});
  }
  results[0].times.wait_late_peer_ns = {0, 18};  // less than 1 % on average
  EXPECT_EQ(waits_longest(chosen), nullptr);
  results[1].times.wait_late_peer_ns = {500, 0};
  results[2].times.wait_late_peer_ns = {300, 300};
  EXPECT_EQ(waits_longest(chosen), &chosen[2]);
}

// What was read of a file before it was closed is not taken for what it is when it is opened again.
TEST(Session, AFileThatIsOpenedAgainIsReadAgain) {
  const auto session = session_of({"/a.db"});
  const int before = session->files()[0]->generation;
  session->close(0);
  session->open("/a.db");
  EXPECT_NE(session->files()[0]->generation, before);
}

bool is_held(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path) return true;
  }
  return false;
}

class ClosedFile : public testing::TwoRanks {};

TEST_F(ClosedFile, IsHeldByNobody) {
  write_ranks();
  const std::string path = (std::filesystem::canonical(folder_.path()) / "merged.db").string();
  testing::merge(path, shards());
  Workers workers(
      2, [] {}, kAll);
  std::atomic<int> opened = 0;
  for (int i = 0; i < 2; ++i)
    workers.post({}, [&](Readers& readers) {
      readers.of(path, 1);
      // Both threads have it.
      for (++opened; opened < 2;) std::this_thread::yield();
    });
  while (workers.answered() < 2) std::this_thread::yield();
  ASSERT_TRUE(is_held(path));
  workers.let_go(path);
  for (int i = 0; i < 1000 && is_held(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_held(path));
}

}  // namespace
}  // namespace spscope::gui
