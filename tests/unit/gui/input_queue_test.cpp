// Input that comes in one breath: what each frame of Dear ImGui sees of it. Tests say their frames by hand.
#include "gui/platform/input_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include <random>
#include <string>
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

// What a frame shows: where the pointer is, modifiers, keys and buttons that are down, turns of the wheel, [presses],
// and ... where more input waits.
std::string seen_in_frame(Frames& f) {
  const FrameInput& input = f.frame();
  const ImGuiIO& io = f.io;
  std::string text;
  const auto add = [&](bool there, const std::string& word) { text += there ? (text.empty() ? "" : " ") + word : ""; };
  add(io.MousePos.x > -1e30F, fmt::format("at {},{}", io.MousePos.x, io.MousePos.y));
  add(io.KeyCtrl, "ctrl");
  add(io.KeyShift, "shift");
  for (int key = 0; key <= static_cast<int>(Key::kBackslash); ++key)
    add(io.KeysDown[key], key_press_text({static_cast<Key>(key), {}}));
  add(io.MouseDown[0], "button");
  add(io.MouseWheel != 0, fmt::format("wheel {}", io.MouseWheel));
  add(!input.presses.empty(), "[" + text_of(input) + "]");
  add(input.more, "...");
  return text;
}

TEST(InputQueue, EachFrameTakesWhatCanHappenAtOnce) {
  const auto down = [](Key key, Modifiers m = {}) { return Event{Event::KeyChange{key, true, false, m}}; };
  const auto up = [](Key key) { return Event{Event::KeyChange{key, false, false, {}}}; };
  const auto button = [](bool is_down, Modifiers m = {}) { return Event{Event::Button{0, is_down, m}}; };
  const auto held = [](Modifiers m) { return Event{Event::ModifierChange{m}}; };
  const auto move = [](float x, float y) { return Event{Event::Move{x, y}}; };
  const auto wheel = [](float turns, Modifiers m) { return Event{Event::Wheel{0, turns, m}}; };
  struct Case {
    const char* name;
    std::vector<Event> events;
    std::vector<std::string> frames;  // the first ones
  };
  const Case cases[] = {{"a tap in one breath is held for a frame", {down(Key::kW), up(Key::kW)}, {"W [W] ...", ""}},
                        {"a double click is four frames",
                         {button(true), button(false), button(true), button(false)},
                         {"button ...", "...", "button ...", ""}},
                        {"a click happens where it was made, and a drag is shown before its end",
                         {move(1, 1), move(10, 20), button(true), move(30, 40), button(false), Event{Event::Leave{}}},
                         {"at 10,20 button ...", "at 30,40 button ...", "at 30,40 ...", ""}},
                        {"the wheel turns where it was turned",
                         {move(10, 20), wheel(1, kShift), wheel(2, kShift), move(30, 40)},
                         {"at 10,20 shift wheel 3 ..."}},
                        {"modifiers hold for all that a frame takes",
                         {held(kCtrl), down(Key::kC, kCtrl), held({}), down(Key::kX)},
                         {"ctrl C [Ctrl+C] ...", "C X [X]"}},
                        // Modifiers that went down before the window had the focus are known from the events alone.
                        {"what has other modifiers waits",
                         {down(Key::kC, kCtrl), down(Key::kX), button(true, kShift), wheel(1, kCtrl)},
                         {"ctrl C [Ctrl+C] ...", "C X [X] ...", "shift C X button ...", "ctrl C X button wheel 1"}},
                        {"a click with a key held is one",
                         {held(kCtrl), button(true, kCtrl), button(false, kCtrl), held({})},
                         {"ctrl button ...", "ctrl ...", ""}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Frames f;
    for (const Event& event : c.events) f.queue.push(event);
    for (const std::string& frame : c.frames) EXPECT_EQ(seen_in_frame(f), frame);
  }
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
