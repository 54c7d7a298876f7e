// Input that comes in one breath: what each frame of Dear ImGui sees of it. Each test says its frames by hand.
#include "gui/platform/input_queue.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace spscope::gui {
namespace {

using Event = InputEvent;
constexpr Modifiers kCtrl{.ctrl = true}, kShift{.shift = true};

struct Frames {
  ImGuiContext* context = ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  InputQueue queue;
  std::vector<FrameInput> taken;

  Frames() = default;
  Frames(const Frames&) = delete;
  ~Frames() { ImGui::DestroyContext(context); }

  void key(Key key, bool down, Modifiers modifiers = {}) { queue.push(Event::KeyChange{key, down, false, modifiers}); }
  void tap(Key key, Modifiers modifiers = {}) {
    this->key(key, true, modifiers);
    this->key(key, false, modifiers);
  }
  void button(bool down, Modifiers modifiers = {}) { queue.push(Event::Button{0, down, modifiers}); }
  void type(char c, Key key) {
    this->key(key, true);
    queue.push(Event::Character{static_cast<unsigned>(c)});
    this->key(key, false);
  }
  const FrameInput& frame() { return taken.emplace_back(queue.frame(io)); }
  // Frames until nothing is left, at most 1,000.
  int drain() {
    int frames = 0;
    do ++frames;
    while (frame().more && frames < 1000);
    return frames;
  }
};

std::string text_of(const FrameInput& input) {
  std::string text;
  for (const KeyPress& press : input.presses) text += (text.empty() ? "" : " ") + key_press_text(press);
  return text;
}

// Since 1.87 Dear ImGui's state follows only in NewFrame; these tests read it at once.
#if IMGUI_VERSION_NUM < 18700

TEST(InputQueue, ATapThatCameInOneBreathIsHeldForAFrame) {
  Frames f;
  f.tap(Key::kW);
  EXPECT_TRUE(f.frame().more);
  EXPECT_TRUE(f.io.KeysDown[static_cast<int>(Key::kW)]);
  EXPECT_FALSE(f.frame().more);
  EXPECT_FALSE(f.io.KeysDown[static_cast<int>(Key::kW)]);
  EXPECT_EQ(text_of(f.taken[0]), "W");
  EXPECT_EQ(text_of(f.taken[1]), "");
}

TEST(InputQueue, ADoubleClickIsFourFrames) {
  Frames f;
  for (const bool down : {true, false, true, false}) f.button(down);
  for (const bool down : {true, false, true, false}) {
    const bool more = f.frame().more;
    EXPECT_EQ(more, f.taken.size() < 4);
    EXPECT_EQ(f.io.MouseDown[0], down);
  }
}

TEST(InputQueue, AClickHappensWhereItWasMade) {
  Frames f;
  f.queue.push(Event::Move{1, 1});
  f.queue.push(Event::Move{10, 20});
  f.button(true);
  f.queue.push(Event::Move{30, 40});
  f.button(false);
  f.queue.push(Event::Leave{});
  f.frame();
  EXPECT_EQ(f.io.MousePos.x, 10);
  EXPECT_TRUE(f.io.MouseDown[0]);
  f.frame();
  EXPECT_EQ(f.io.MousePos.x, 30);
  EXPECT_TRUE(f.io.MouseDown[0]) << "a drag is shown before its end";
  f.frame();
  EXPECT_FALSE(f.io.MouseDown[0]);
  EXPECT_FALSE(f.frame().more);
  EXPECT_LT(f.io.MousePos.x, -1e30F);
}

TEST(InputQueue, TheWheelTurnsWhereItWasTurned) {
  Frames f;
  f.queue.push(Event::Move{10, 20});
  f.queue.push(Event::Wheel{0, 1, kShift});
  f.queue.push(Event::Wheel{0, 2, kShift});
  f.queue.push(Event::Move{30, 40});
  EXPECT_TRUE(f.frame().more);
  EXPECT_EQ(f.io.MousePos.y, 20);
  EXPECT_EQ(f.io.MouseWheel, 3);
  EXPECT_TRUE(f.io.KeyShift);
}

TEST(InputQueue, ModifiersHoldForAllThatAFrameTakes) {
  Frames f;
  f.queue.push(Event::ModifierChange{kCtrl});
  f.key(Key::kC, true, kCtrl);
  f.queue.push(Event::ModifierChange{{}});
  f.key(Key::kX, true);
  f.frame();
  EXPECT_TRUE(f.io.KeyCtrl);
  EXPECT_TRUE(f.io.KeysDown[static_cast<int>(Key::kC)]);
  EXPECT_FALSE(f.io.KeysDown[static_cast<int>(Key::kX)]);
  EXPECT_FALSE(f.frame().more);
  EXPECT_FALSE(f.io.KeyCtrl);
  EXPECT_TRUE(f.io.KeysDown[static_cast<int>(Key::kX)]);
  EXPECT_EQ(text_of(f.taken[0]) + "|" + text_of(f.taken[1]), "Ctrl+C|X");
}

// Modifiers that went down before the window had the focus are known from the events alone.
TEST(InputQueue, WhatHasOtherModifiersWaits) {
  Frames f;
  f.key(Key::kC, true, kCtrl);
  f.key(Key::kX, true);
  f.button(true, kShift);
  f.queue.push(Event::Wheel{0, 1, kCtrl});
  for (const auto& [ctrl, shift] : {std::pair{true, false}, {false, false}, {false, true}, {true, false}}) {
    EXPECT_EQ(f.io.MouseWheel, 0);
    f.frame();
    EXPECT_EQ(f.io.KeyCtrl, ctrl);
    EXPECT_EQ(f.io.KeyShift, shift);
  }
  EXPECT_EQ(f.io.MouseWheel, 1);
  EXPECT_FALSE(f.taken.back().more);
}

TEST(InputQueue, AClickWithAKeyHeldIsOne) {
  Frames f;
  f.queue.push(Event::ModifierChange{kCtrl});
  f.button(true, kCtrl);
  f.button(false, kCtrl);
  f.queue.push(Event::ModifierChange{{}});
  f.frame();
  EXPECT_TRUE(f.io.KeyCtrl && f.io.MouseDown[0]);
  f.frame();
  EXPECT_TRUE(f.io.KeyCtrl && !f.io.MouseDown[0]);
  EXPECT_FALSE(f.frame().more);
  EXPECT_FALSE(f.io.KeyCtrl);
}

TEST(InputQueue, FastTypingKeepsAllCharactersInOrder) {
  Frames f;
  for (const char c : std::string("aabb")) f.type(c, c == 'a' ? Key::kA : Key::kB);
  std::string typed;
  do {
    f.frame();
    for (const ImWchar c : f.io.InputQueueCharacters) typed += static_cast<char>(c);
    f.io.InputQueueCharacters.resize(0);  // as EndFrame does
  } while (f.taken.back().more);
  EXPECT_EQ(typed, "aabb");
}

#endif

TEST(InputQueue, RepeatsOfAHeldKeyAllCountInOneFrame) {
  Frames f;
  f.key(Key::kD, true);
  for (int i = 0; i < 3; ++i) f.queue.push(Event::KeyChange{Key::kD, true, true, {}});
  EXPECT_FALSE(f.frame().more);
  EXPECT_EQ(text_of(f.taken[0]), "D D D D");
  EXPECT_FALSE(f.taken[0].presses[0].repeat);
  EXPECT_TRUE(f.taken[0].presses[3].repeat);
}

TEST(InputQueue, DroppedFilesAndCloseArrive) {
  Frames f;
  f.queue.push(Event::Redraw{});
  f.queue.push(Event::Drop{{"a.db", "b c.db"}});
  f.queue.push(Event::Drop{{"d.db"}});
  f.queue.push(Event::Close{});
  EXPECT_FALSE(f.queue.empty());
  EXPECT_FALSE(f.frame().more);
  EXPECT_EQ(f.taken[0].dropped, (std::vector<std::string>{"a.db", "b c.db", "d.db"}));
  EXPECT_TRUE(f.taken[0].close);
  EXPECT_FALSE(f.frame().close);
}

// 200 random storms of input: every press arrives once, in order, and no key or button changes twice in a frame.
TEST(InputQueue, LosesNothingOfRandomInput) {
  std::mt19937 random(16);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int storm = 0; storm < 200; ++storm) {
    Frames f;
    std::string sent;
    int changes = 0;
    for (int i = 0; i < 60; ++i) {
      const Modifiers modifiers = pick(3) == 0 ? kCtrl : Modifiers{};
      const Key key = static_cast<Key>(pick(3));
      switch (pick(4)) {
        case 0:
          f.tap(key, modifiers);
          changes += 2;
          sent += key_press_text({key, modifiers}) + " ";
          break;
        case 1:
          f.button(pick(2) == 0, modifiers);
          break;
        case 2:
          f.queue.push(Event::Move{static_cast<float>(i), 0});
          break;
        default:
          f.queue.push(Event::ModifierChange{modifiers});
          break;
      }
    }
    std::string got;
    const int frames = f.drain();
    for (const FrameInput& input : f.taken) {
      int of_key[3] = {};
      for (const KeyPress& press : input.presses) {
        EXPECT_EQ(of_key[static_cast<int>(press.key)]++, 0);
        EXPECT_EQ(press.modifiers, input.presses.front().modifiers);
        got += key_press_text(press) + " ";
      }
    }
    EXPECT_EQ(got, sent);
    EXPECT_TRUE(f.queue.empty());
    EXPECT_GE(frames, changes / 6);  // three keys, each changed once in a frame
  }
}

TEST(Keys, EveryNameReadsBackWithEveryModifier) {
  for (int key = 0; key <= static_cast<int>(Key::kBackslash); ++key)
    for (int bits = 0; bits < 16; ++bits) {
      const Modifiers modifiers{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
      const std::string text = key_press_text({static_cast<Key>(key), modifiers});
      const auto read = parse_key_press(text);
      ASSERT_TRUE(read) << text;
      EXPECT_EQ(read->key, static_cast<Key>(key)) << text;
      EXPECT_EQ(read->modifiers, modifiers) << text;
    }
  EXPECT_EQ(key_press_text({Key::kP, {.ctrl = true, .shift = true}}), "Ctrl+Shift+P");
  for (const char* wrong : {"", "Ctrl", "Ctrl+", "Ctrl+Nothing", "ctrl+p", "P "})
    EXPECT_FALSE(parse_key_press(wrong)) << wrong;
}

}  // namespace
}  // namespace spscope::gui
