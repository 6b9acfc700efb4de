/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/watch_notes.h"
#include "base/intern.h"
#include "sink/notes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void watch_notes_item(struct watch_notes *n, const struct item *it)
{
	const struct vmspan_head *h = it->defs.data;

	n->news |=
		it->type == ITEM_DEFS && it->defs.bytes >= sizeof(*h) && h->type == VMSPAN_DEF_NOTE;
}

/* 1 if it had not been said yet, 0, or -ENOMEM. */
static int is_new(struct watch_notes *n, const char *text)
{
	u32 before;
	s64 id;

	n->said = n->said ? n->said : intern_new();
	if (!n->said)
		return -ENOMEM;
	before = intern_count(n->said);
	id = intern_put(n->said, text, strlen(text));
	return id < 0 ? (int)id : id >= before;
}

int watch_notes_say(struct watch_notes *n, const struct snapshot *s)
{
	struct note_line lines[NOTE_LINES];
	u32 count = note_lines(s, lines), i;
	struct out o;
	int rc = 0;

	n->news = false;
	out_open_fd(&o, STDERR_FILENO);
	for (i = 0; i < count && rc >= 0; i++) {
		rc = is_new(n, lines[i].note->text);
		if (rc <= 0)
			continue;
		note_text(&o, s, &lines[i]);
		out_puts(&o, "\n");
	}
	out_close(&o);
	return rc < 0 ? rc : 0;
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
