/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_notes.h"
#include "base/intern.h"
#include "sink/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void watch_notes_item(struct watch_notes *n, const struct item *it)
{
	const struct vmspan_head *h = it->defs.data;

	n->news |=
		it->type == ITEM_DEFS && it->defs.bytes >= sizeof(*h) && h->type == VMSPAN_DEF_NOTE;
}

/* A note of a process, as bytes. */
static size_t key_of(const struct snapshot *s, const struct snapshot_note *n, char to[1024])
{
	int len = snprintf(to, 1024, "%u %s", s->processes[n->process].pid, n->text);

	return (size_t)len < 1024 ? (size_t)len : 1023;
}

int watch_notes_say(struct watch_notes *n, const struct snapshot *s)
{
	struct snapshot_note *new = calloc(s->note_count + 1, sizeof(*new));
	struct intern *now = intern_new();
	struct snapshot view = *s;
	struct note_line lines[NOTE_LINES];
	u32 count, i;
	char key[1024];
	struct out o;
	int rc = new &&now ? 0 : -ENOMEM;

	n->news = false;
	view.notes = new;
	view.note_count = 0;
	for (i = 0; !rc && i < s->note_count; i++) {
		size_t len = key_of(s, &s->notes[i], key);

		if (!n->said || intern_find(n->said, key, len) < 0)
			new[view.note_count++] = s->notes[i];
		rc = intern_put(now, key, len) < 0 ? -ENOMEM : 0;
	}
	if (rc) {
		intern_free(now);
		free(new);
		return rc;
	}
	intern_free(n->said);
	n->said = now;
	count = note_lines(&view, lines);
	out_open_fd(&o, STDERR_FILENO);
	for (i = 0; i < count; i++) {
		note_text(&o, &view, &lines[i]);
		out_puts(&o, "\n");
	}
	out_close(&o);
	free(new);
	return 0;
}

int watch_notes_news(struct watch_notes *n, struct model *m)
{
	struct snapshot *s;
	int rc;

	if (!n->news)
		return 0;
	s = snapshot_take(m);
	if (!s)
		return -ENOMEM;
	rc = watch_notes_say(n, s);
	snapshot_free(s);
	return rc;
}

void watch_notes_free(struct watch_notes *n)
{
	intern_free(n->said);
}
