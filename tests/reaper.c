// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs a command, and sees to it that nothing of what it starts outlives it.
 *   reaper LIMIT PATIENCE FILE COMMAND...
 * The command is in a process group of its own, has LIMIT seconds, then SIGTERM, and SIGKILL
 * ten seconds later. Processes that it has left behind at its end have PATIENCE seconds to end
 * by themselves, or none if it did not end with status 0. Those that are there then are killed,
 * and are written to FILE, a line each: "process PID: COMMAND LINE".
 * The status is the command's, 128 and the number of the signal that ended it, or 124 if it
 * was still there after LIMIT seconds. Who is told to end by SIGTERM, or whose parent ends,
 * tells the command, which has twenty seconds to tidy up.
 *
 * This process is the subreaper of all (prctl(2)): whatever has lost its parent becomes its
 * child, also what has a session, an environment and a folder of its own. Who has no child has
 * no descendant either, so that the answer of waitpid(2) is exact, where a look at /proc is not:
 * there a process has no environment while it is just becoming another.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE 10 /* seconds between SIGTERM and SIGKILL of who had its time */
#define TIDY 20 /* and of who is told to end */
#define STUCK 60 /* seconds that what is killed may take */
#define SEEN 1024 /* processes that are named */

static pid_t command;
static int status = -1; // of the command, once it has ended
static bool told; // to end

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Takes the status of all that has ended. True while there are children. */
static bool reap(void)
{
	int how;
	pid_t pid;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		if (pid == command)
			status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
	}
	return pid == 0;
}

/*
 * Waits until the command has ended (or, with all, everything of it), until the time, or until
 * it is told to end. Who tells it may do so by several ways: only the first counts.
 */
static void wait_until(double time, bool all)
{
	sigset_t set;
	double left;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	while (reap() && (all || status < 0) && (left = time - now()) > 0) {
		struct timespec t;

		t.tv_sec = (time_t)left;
		t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
		if (sigtimedwait(&set, NULL, &t) == SIGTERM && !told) {
			told = true;
			return;
		}
	}
}

/* The parent of a process, and its state; 0 if there is none. */
static pid_t parent_of(pid_t pid, char *state)
{
	char path[64], text[512], *at;
	FILE *f;
	size_t n;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')'); // the name before it may hold anything
	if (!at || sscanf(at + 1, " %c %d", state, &parent) != 2)
		return 0;
	return parent;
}

static void name(FILE *to, pid_t pid)
{
	char path[64], text[200];
	ssize_t n = 0;
	int i, fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		close(fd);
	}
	for (i = 0; i < n; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = ' ';
	}
	fprintf(to, "process %d: %.*s\n", pid, n > 0 ? (int)n : 0, text);
}

/* Kills the children, and names each once. Their own children then become ours. */
static void kill_all(FILE *to)
{
	static pid_t seen[SEEN];
	static int n_seen;
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);
		char state;
		int i;

		if (pid <= 0 || parent_of(pid, &state) != getpid() || state == 'Z')
			continue;
		for (i = 0; i < n_seen && seen[i] != pid; i++)
			;
		if (i == n_seen && n_seen < SEEN) {
			seen[n_seen++] = pid;
			name(to, pid);
		}
		kill(pid, SIGKILL);
	}
	if (dir)
		closedir(dir);
}

static void run(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	// What runs beside a shell has them ignored.
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "reaper: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	double patience, limit, stuck;
	bool late = false;
	FILE *left;
	sigset_t set;

	if (argc < 5) {
		fprintf(stderr, "usage: reaper LIMIT PATIENCE FILE COMMAND...\n");
		return 2;
	}
	limit = atof(argv[1]);
	patience = atof(argv[2]);
	left = fopen(argv[3], "we");
	if (!left || prctl(PR_SET_CHILD_SUBREAPER, 1) || prctl(PR_SET_PDEATHSIG, SIGTERM)) {
		fprintf(stderr, "reaper: %s: %s\n", argv[3], strerror(errno));
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	command = fork();
	if (!command)
		run(argv + 4);
	if (command < 0) {
		fprintf(stderr, "reaper: fork: %s\n", strerror(errno));
		return 2;
	}
	setpgid(command, command); // whichever of both is first

	wait_until(now() + limit, false);
	if (status < 0) {
		late = !told;
		kill(-command, SIGTERM);
		wait_until(now() + (told ? TIDY : GRACE), false);
	}
	if (status == 0 && !told)
		wait_until(now() + patience, true);
	for (stuck = now() + STUCK; reap() && now() < stuck; wait_until(now() + 0.05, true))
		kill_all(left);
	fclose(left);
	return late ? 124 : status < 0 ? 128 + SIGKILL : status;
}
