/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes on processes that `watch` says: of each process once, and again where it was right in between. */
#include "cmd/watch_notes.c"
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SILENT 99 /* a key, as sources have them */

/* "" takes it back. */
static void note(struct watch_notes *n, struct model *m, u32 pid, const char *text)
{
	u64 room[32] = { 0 };
	struct vmspan_def *d = (void *)room;
	struct item it = { .type = ITEM_DEFS };

	d->h.type = VMSPAN_DEF_NOTE;
	d->h.id = 2 * SILENT + 1;
	d->name_len = (u8)strlen(text);
	memcpy(d->groups, text, d->name_len);
	d->h.slots = (u8)((sizeof(*d) + d->name_len + VMSPAN_SLOT - 1) / VMSPAN_SLOT);
	it.defs = (struct item_defs){ .pid = pid,
				      .registry = ITEM_TRACER_REGISTRY,
				      .data = room,
				      .bytes = d->h.slots * (u32)VMSPAN_SLOT };
	watch_notes_item(n, &it);
	assert_int_equal(model_item(m, &it), 0);
}

/* What it says on stderr, as a string to free. */
static char *said(struct watch_notes *n, struct model *m)
{
	FILE *f = tmpfile();
	int keep = dup(STDERR_FILENO);
	char *text = calloc(1, 4096);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(keep >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
	assert_int_equal(watch_notes_news(n, m), 0);
	assert_true(dup2(keep, STDERR_FILENO) >= 0);
	close(keep);
	rewind(f);
	text[fread(text, 1, 4095, f)] = 0;
	fclose(f);
	return text;
}

static void says(struct watch_notes *n, struct model *m, const char *want)
{
	char *text = said(n, m);

	assert_string_equal(text, want);
	free(text);
}

static void each_process_is_told_of(void **state)
{
	struct model *m = model_make(&(struct model_config){ 0 });
	struct watch_notes n = { 0 };
	u32 pid;

	(void)state;
	for (pid = 200; pid < 230; pid++) {
		struct item it = { .type = ITEM_PROCESS,
				   .process = { PROCESS_SEEN, pid, 1, 1, "pay", "sdk" } };

		assert_int_equal(model_item(m, &it), 0);
	}
	says(&n, m, "");
	note(&n, m, 200, "it is silent");
	says(&n, m, "note: pay (200): it is silent\n");
	says(&n, m, "");
	note(&n, m, 201, "it is silent");
	says(&n, m, "note: pay (201): it is silent\n");
	/* Many at once are one line. */
	for (pid = 202; pid < 230; pid++)
		note(&n, m, pid, "it is silent");
	says(&n, m, "note: pay (202) and 27 more processes: it is silent\n");
	note(&n, m, 200, "");
	says(&n, m, "");
	note(&n, m, 200, "it is silent");
	says(&n, m, "note: pay (200): it is silent\n");
	watch_notes_free(&n);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_process_is_told_of),
	};

	return cmocka_run_group_tests_name("watch_notes", tests, NULL, NULL);
}
