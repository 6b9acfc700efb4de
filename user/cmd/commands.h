/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands, in the order --help has: X(NAME, FUNCTION, BIT, ARGUMENTS,
 * ABOUT), fields of struct command. A list to be expanded: tests of what reads
 * the table have the same one without the functions.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#define COMMANDS(X)                                                                             \
	X("top", cmd_top, IN_TOP, "-p PID[,PID...]|-c NAME|-a [OPTION...]",                     \
	  "shows live which group spends the time of each turn")                                \
	X("record", cmd_record, IN_RECORD,                                                      \
	  "-p PID[,...]|-c NAME|-a [OPTION...] | [OPTION...] -- CMD...",                        \
	  "writes a recording, until ^C or until the targets have ended")                       \
	X("report", cmd_report, IN_REPORT, "FILE [FILE] [OPTION...]",                           \
	  "shows what a recording holds, or how a second one differs")                          \
	X("export", cmd_export, IN_EXPORT, "FILE [-f FORMAT] [OPTION...]",                      \
	  "writes a recording in the format of another program")                                \
	X("stat", cmd_stat, IN_STAT, "-p PID[,PID...]|-c NAME|-a [OPTION...]",                  \
	  "prints a line of figures an interval")                                               \
	X("watch", cmd_watch, IN_WATCH, "-p PID[,PID...] | FILE [OPTION...]",                   \
	  "says when a group holds a turn for too long, and why")                               \
	X("export-metrics", cmd_metrics, IN_METRICS, "-p PID[,PID...] [--listen ADDRESS:PORT]", \
	  "serves figures and alerts to Prometheus")                                            \
	X("serve", cmd_serve, IN_SERVE, "FILE | -p PID[,PID...] [OPTION...]",                   \
	  "shows a recording or a live process in a browser")                                   \
	X("list", cmd_list, IN_LIST, "[-p PID[,PID...] | FILE] [OPTION...]",                    \
	  "lists the probes and groups of a process or recording")                              \
	X("doctor", cmd_doctor, IN_DOCTOR, "[-p PID[,PID...]] [OPTION...]",                     \
	  "says what works here, what does not, and what to do")

#endif
