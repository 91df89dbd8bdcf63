"""Diagnostic states of the planner, with level, code and message."""

from __future__ import annotations

from manip_dyn.ros.diagnostics import ERROR, OK, WARN, State

NOT_ALONE = "other nodes publish on {topic}: {others}; this node must be the only publisher"
REJECTED, GAVE_UP = "rejected: {reason}", "gave up: {reason}"
PLANNER_STATES = (
    State("waiting", WARN, "no joint states yet on {topic}", "no_joint_states"),
    State("waiting", WARN, "no joint states for {silence:.1f} s", "silence"),
    State("idle", OK, "waiting for a goal"),
    State("idle", WARN, "the arm was reset: {reason}; waiting for a goal", "reset"),
    State("idle", WARN, "the goal is no longer held: {reason}", "silence"),
    State("braking", WARN, "the arm moves: {fastest}; braking before planning", "arm_moves"),
    State("planning", OK, "planning: {method}"),
    State("planning", OK, "planning for the new goal instead: {method}", "new_goal"),
    State("executing", OK, "{beginning}"),
    State("executing", WARN, "the arm left its plan: responding as set by replan", "off_plan"),
    State("executing", OK, "a new goal: the motion to it begins in {lead:g} s", "new_goal"),
    State("executing", OK, "a new goal: the motion to it begins at the current goal", "next_goal"),
    State("reached", OK, "{end}"),
    State("refused", WARN, REJECTED, "no_joint_states"),
    State("refused", WARN, REJECTED, "bad_goal"),
    State("refused", WARN, REJECTED, "arm_moves"),
    State("refused", WARN, REJECTED, "not_alone"),
    State("refused", WARN, REJECTED, "nobody_listens"),
    State("refused", WARN, REJECTED, "out_of_reach"),
    State("refused", WARN, REJECTED, "no_plan"),
    State("aborted", WARN, "aborted: {reason}", "aborted"),
    State("aborted", WARN, "the goal is not reached: {reason}", "not_reached"),
    State("lost", ERROR, GAVE_UP, "silence"),
    State("lost", ERROR, "gave up: the arm was reset: {reason}", "reset"),
)
"""States on ~/status, published on entry and repeated on /diagnostics."""

PLANNER_OVERLAYS = (
    State("outside_limits", ERROR, "joint outside its limits: {outside}"),
    State("not_alone", WARN, NOT_ALONE),
    State("standing", WARN, "time stands still: the same joint state for {seconds:.1f} s"),
)
"""States on /diagnostics that replace a state that is not more severe while they hold."""

BY_KEY = {(state.name, state.code): state for state in (*PLANNER_STATES, *PLANNER_OVERLAYS)}
