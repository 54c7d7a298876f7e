#include "backend/cli/parse_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <type_traits>

#include "backend/cli/help_format.h"
#include "backend/cli/usage.h"
#include "backend/report/format.h"

namespace spscope {
namespace {

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(int width) : width_(width) { column_width(static_cast<std::size_t>(kDescriptions)); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return hanging_text("  " + make_option_name(option, is_positional) + make_option_opts(option),
                        make_option_desc(option), kDescriptions, width_);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return hanging_text("  " + command->get_name(), command->get_description(), kDescriptions, width_);
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped_text(app->get_description(), width_);
  }
  std::string make_footer(const CLI::App* app) const override { return wrapped_paragraphs(app->get_footer(), width_); }

 private:
  static constexpr int kDescriptions = 30;  // the column where they begin
  int width_;
};

// A check can only say one text: "what is wrong" kHintMark "how to mend it".
constexpr char kHintMark = '\x1f';

std::string checked(const FlagRule& rule, std::string& text) {
  const std::optional<RefusedValue> refused = check_value(rule, text);
  return refused ? refused->message + kHintMark + refused->hint : "";
}

void add_flag(CLI::App& app, const Flag& flag) {
  CLI::Option* option = std::visit(
      [&](auto* target) -> CLI::Option* {
        if constexpr (std::is_same_v<decltype(target), bool*>)
          return app.add_flag(flag.names, *target, flag.help);
        else
          return app.add_option(flag.names, *target, flag.help);
      },
      flag.target);
  if (const std::string name = value_name(flag); !name.empty()) option->type_name(name);
  if (!std::holds_alternative<std::monostate>(flag.rule))
    option->transform(CLI::Validator([rule = flag.rule](std::string& text) { return checked(rule, text); }, ""));
  if (!flag.default_text.empty()) option->default_str(flag.default_text);
  if (flag.delimiter != '\0') option->delimiter(flag.delimiter);
  if (flag.hidden) option->group("");
  option->required(flag.required);
  if (!flag.excludes.empty()) option->excludes(app.get_option(flag.excludes));
}

void add_command(CLI::App& parent, const Command& command) {
  CLI::App* app = parent.add_subcommand(command.name, command.summary);
  app->footer(command.text);
  for (const Command& below : command.commands) add_command(*app, below);
  if (!command.commands.empty()) app->require_subcommand(1);
  for (const Flag& flag : command.flags) add_flag(*app, flag);
}

// A parser and the declaration that it was made from, on the way that the arguments lead.
struct Place {
  const CLI::App* app;
  const Command* command;
  std::string full_name;  // "spscope mask generate"
};

Place below(const Place& place) {
  const CLI::App* app = place.app->get_subcommands().front();
  const auto& commands = place.command->commands;
  const auto found = std::ranges::find(commands, app->get_name(), &Command::name);
  return {app, &*found, place.full_name + " " + app->get_name()};
}

bool leads_on(const Place& place) { return !place.app->get_subcommands().empty(); }

// The command that met an argument it does not know, or else the last one that the arguments lead to.
Place at_fault(Place place) {
  while (leads_on(place) && place.app->remaining().empty()) place = below(place);
  return place;
}

// The program that a command was given to run.
std::string program_of(const Place& place) {
  for (const Flag& flag : place.command->flags)
    if (const CLI::Option* const option = flag.is_program ? place.app->get_option(flag.names) : nullptr;
        option != nullptr && option->count() > 0)
      return option->results().front();
  return {};
}

std::vector<std::string> first_arguments(const Place& place) {
  for (const CLI::Option* option : place.app->get_options())
    if (option->get_positional() && option->count() > 0) return option->results();
  return {};
}

// The flag or argument that a message of CLI11 begins with or is about; null when it names none.
const Flag* flag_of(const Command& command, std::string_view message) {
  const Flag* found = nullptr;
  for (const Flag& flag : command.flags)
    if (message.find(long_name(flag)) != std::string_view::npos &&
        (found == nullptr || long_name(flag).size() > long_name(*found).size()))
      found = &flag;
  return found;
}

UsageFault fault_of(const CLI::ParseError& error, bool names_flag) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return names_flag ? UsageFault::kMissing : UsageFault::kNoCommand;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && names_flag) return UsageFault::kNoValue;
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && names_flag) return UsageFault::kNotANumber;
  return dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr ? UsageFault::kExcluded : UsageFault::kOther;
}

WrongUsage wrong_usage(const Place& root, const CLI::ParseError& error) {
  const Place place = at_fault(root);
  WrongUsage usage;
  usage.command = place.full_name;
  usage.message = error.what();
  if (const CLI::Option* config = place.app->get_option_no_throw("config"); config != nullptr && config->count() > 0)
    usage.config = config->results().front();
  for (const CLI::Option* option : place.app->get_options())
    for (const std::string& name : option->get_lnames()) usage.flags.push_back("--" + name);
  for (const Command& command : place.command->commands) {
    usage.commands.push_back(command.name);
    for (const Command& below : command.commands) usage.below.push_back(command.name + " " + below.name);
  }
  // To CLI11 an unknown command is a missing one.
  usage.words = place.app->remaining();
  // CLI11 has the mark behind which no flags are among them.
  const bool is_marked = place.command->commands.empty() && std::erase(usage.words, "--") > 0;
  if (!is_marked) usage.unmarked_program = program_of(place);
  if (!usage.words.empty()) {
    usage.fault = UsageFault::kUnknown;
    return usage;
  }
  usage.flag = flag_of(*place.command, usage.message);
  if (const std::size_t mark = usage.message.find(kHintMark); mark != std::string::npos) {
    usage.fault = UsageFault::kValue;
    usage.hint = usage.message.substr(mark + 1);
    usage.message.resize(mark);
    return usage;
  }
  usage.fault = fault_of(error, usage.flag != nullptr);
  if (usage.fault == UsageFault::kNotANumber) usage.words = place.app->get_option(long_name(*usage.flag))->results();
  return usage;
}

}  // namespace

std::variant<ChosenCommand, int> parse_command_line(const Command& program, const std::string& version, int argc,
                                                    const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer(program.text);
  app.formatter(std::make_shared<HelpFormat>(text_width()));
  for (const Command& command : program.commands) add_command(app, command);
  if (argc < 2) {  // nothing was asked: what can be
    err << app.help();
    return kExitUsage;
  }
  const Place root{&app, &program, program.name};
  try {  // CLI11 reports wrong usage, and help, by exceptions
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, out, err);
    err << render(usage_problem(wrong_usage(root, error)));
    return kExitUsage;
  }
  const Place top = below(root);
  ChosenCommand chosen{top.command->name, top.command->action, first_arguments(top)};
  if (leads_on(top)) {
    const Place last = below(top);
    chosen.action = last.command->action;
    if (chosen.arguments.empty()) chosen.arguments = first_arguments(last);
  }
  return chosen;
}

}  // namespace spscope
