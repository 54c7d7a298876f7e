"""Runs the features of the desktop app on the real window: each function of the modules below whose name begins with a letter is a
feature, which it proves by real input. Tests that say why they cannot run are reported as skipped, with the reason.

Usage: test_features.py FOLDER_OF_PROGRAMS [--state default | wide] [--part N/OF] [--only NAME,...] [--manager openbox]
"""
import argparse
import importlib
import inspect
import sys
import time
import traceback

import features_keys
from window import SKIPPED, missing
from world import World, commands

MODULES = ("features_frame", "features_keys", "features_pointer", "features_views", "features_timeline", "features_bands", "features_heads",
           "features_stored", "features_verdicts", "features_states", "features_large", "features_exports", "features_scope",
           "features_files", "features_run", "features_runs")
# The default set: of each view what it is for, of each kind of input one.
DEFAULT = {
    "rail_shows_views", "tabs_open_and_close", "splitters_move", "status_line", "scope_strategies", "scope_pass", "scope_repeat",
    "link_copied_and_taken", "an_error_is_said", "loading_state", "settings_are_kept", "scale_rebakes", "modelled_times_are_hatched",
    "names_are_literal", "keys_of_the_app", "keys_of_the_timeline", "wheel_zooms_at_pointer", "drag_and_shift_wheel_pan", "typing_is_not_a_command",
    "table_sorts_and_filters", "table_copies", "start_opens_by_path", "start_recover", "overview_selects_and_says_why",
    "timeline_finds_a_name", "timeline_tells_of_an_event", "a_program_that_was_observed", "lost_events_of_collectors_are_said",
    "timeline_matrix", "timeline_brush", "heads_thumbnails", "heads_one_large", "heads_owners", "balance_stragglers", "balance_map",
    "balance_maps_are_lighter_where_figures_are_larger", "balance_what_if",
    "compare_adds_up", "compare_two_runs", "run_running", "sql_answers", "report_exports_several", "view_dumps_equal_the_command_line",
    "no_window_says_a_way_on"}


def all_tests():
    """Functions by their names, in the order of their modules."""
    modules = [importlib.import_module(name) for name in MODULES]
    return {name: test for module in modules for name, test in inspect.getmembers(module, inspect.isfunction)
            if test.__module__ == module.__name__ and not name.startswith("_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--state", choices=("default", "wide"))
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--manager")
    options = parser.parse_args()
    if reason := missing():
        print(f"skipped: {reason}")
        return SKIPPED
    tests = all_tests()
    pressed = {**features_keys.APP, **features_keys.TIMELINE, **features_keys.ELSEWHERE}
    faults = [f"no test is named {name}" for name in DEFAULT - set(tests)]
    faults += [f"features_keys.py has no effect of {command}" for command, *_ in commands() if command not in pressed]
    part, of = map(int, options.part.split("/"))
    names = [n for n in tests if options.state is None or (n in DEFAULT) == (options.state == "default")]
    names = [n for i, n in enumerate(names) if i % of == part - 1 and any(o in n for o in options.only.split(","))]
    done, skipped = 0, []
    with World(options.binaries, manager=options.manager) as world:
        for name in names:
            begin = time.monotonic()
            try:
                reason = tests[name](world)
                if reason:
                    skipped.append(f"{name}: {reason}")
                else:
                    done += 1
                print(f"{name}: {'skipped' if reason else 'passed'} in {time.monotonic() - begin:.1f} s", flush=True)
            except Exception as fault:
                faults.append(f"{name}: {str(fault) or repr(fault)}\n{traceback.format_exc()}")
                print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
                world.drop_shared()
        try:
            world.close_shared()
        except AssertionError as fault:
            faults.append(f"the shared window: {fault}")
        faults += [f"the app changed {name}" for name in world.changed_runs()]
    print(f"{done} features passed")
    for line in skipped:
        print(f"skipped: {line}")
    for line in faults:
        print(f"FAILED: {line}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
