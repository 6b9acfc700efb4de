/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of a JVM: what the kernel tells of is a place in compiled code, and many
 * places are of the same methods; inlined ones are several methods each. So the
 * kernel's numbers are places here, each with the frames that are shown of it.
 * Names come from the target.
 */
#include "source/live_vm_int.h"

#include "probe/jvm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The kernel remembers 65,536 places of all processes and tells of one it forgot
 * under a new number. Here those that were not used since as many others were are
 * forgotten, so none that it still knows.
 */
#define PLACES_MAX 131072
/* Methods of a process; beyond, they are one. */
#define METHODS_MAX 262144

struct place {
	u32 count;
	u32 frames[]; /* innermost first */
};

struct jvm {
	struct vm_proc proc;
	struct intern *methods; /* owned; a frame's id is its number here plus 1 */
	struct map recent, older; /* the kernel's number -> struct place *, owned */
	bool vague; /* and it has not been said */
};

static void forget(struct map *m)
{
	u64 key, value;
	size_t at = 0;

	while (map_next(m, &at, &key, &value))
		free((void *)(uintptr_t)value);
	map_free(m);
}

void jvm_free(struct jvm *j)
{
	if (!j)
		return;
	forget(&j->recent);
	forget(&j->older);
	intern_free(j->methods);
	free(j);
}

struct jvm *jvm_new(const struct vm_proc *proc, bool vague)
{
	struct jvm *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->proc = *proc;
	j->vague = vague;
	j->methods = intern_new();
	if (j->methods)
		return j;
	free(j);
	return NULL;
}

static int put(struct jvm *j, u32 id, struct place *p)
{
	if (j->recent.len >= PLACES_MAX) {
		forget(&j->older);
		j->older = j->recent;
		j->recent = (struct map){ 0 };
	}
	if (!map_put(&j->recent, id, (u64)(uintptr_t)p))
		return 0;
	free(p);
	return -ENOMEM;
}

static const struct place *find(struct jvm *j, u32 id)
{
	u64 *at = map_get(&j->recent, id);
	struct place *p;

	if (at)
		return (const struct place *)(uintptr_t)*at;
	at = map_get(&j->older, id);
	if (!at)
		return NULL;
	p = (struct place *)(uintptr_t)*at;
	map_del(&j->older, id);
	return put(j, id, p) ? NULL : p;
}

/* The frame of a method. 0 without memory, or when an item was refused. */
static u32 frame_of(struct live *l, struct process *p, struct jvm *j, const char *klass,
		    const char *name)
{
	char both[JVM_CLASS + JVM_METHOD + 8];
	u32 before = intern_count(j->methods);
	int n;
	s64 id;

	if (before >= METHODS_MAX) {
		klass = "(other)";
		name = "";
	}
	n = snprintf(both, sizeof(both), "%s\n%s", klass, name);
	id = intern_put(j->methods, both, (size_t)n);
	if (id < 0)
		return 0;
	if (intern_count(j->methods) != before && vm_define_frame(l, p, (u32)id + 1, klass, name))
		return 0;
	return (u32)id + 1;
}

/* A place between two that the VM tells of is taken for the second one's: a loop may be told as what is inlined behind it. */
static int say_vague(struct live *l, struct process *p, struct jvm *j)
{
	j->vague = false;
	return live_note(
		l, p, NOTE_INLINED,
		"what its compiler has inlined it tells at calls and safepoints alone: a loop "
		"may be told as a small method that is inlined beside it",
		"Where two methods' shares matter, start it with "
		"-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints.");
}

int jvm_take_frame(struct live *l, struct process *p, struct jvm *j, const struct wire_frame *w)
{
	struct jvm_method *m = calloc(JVM_INLINED, sizeof(*m));
	u32 n = 0, i;
	struct place *to;
	bool unsure = false;
	char *slash;

	if (!m)
		return 0;
	if (w->how == FRAME_COMPILED)
		n = jvm_inlined(p->pid, &j->proc, w, m, &unsure);
	if (j->vague && unsure && say_vague(l, p, j)) {
		free(m);
		return l->failed;
	}
	/* What was compiled is known, whatever is inlined in it. */
	if (!n) {
		vm_text(w->file, w->file_len, 0, m[0].klass, sizeof(m[0].klass));
		vm_text(w->function, w->function_len, 0, m[0].name, sizeof(m[0].name));
		n = 1;
	}
	if (w->how == FRAME_THREAD) {
		snprintf(m[0].klass, sizeof(m[0].klass), "thread:%s", m[0].name);
		m[0].name[0] = 0;
		/* It is in no package, whatever it is called. */
		while ((slash = strchr(m[0].klass, '/')))
			*slash = '.';
	}
	to = malloc(sizeof(*to) + n * sizeof(to->frames[0]));
	for (i = 0; to && i < n; i++)
		to->frames[i] = frame_of(l, p, j, m[i].klass, m[i].name);
	free(m);
	if (!to)
		return 0;
	to->count = n;
	put(j, w->id, to);
	return l->failed;
}

u32 jvm_frames(struct jvm *j, const u32 *places, u32 count, u32 to[JVM_FRAMES], u16 *flags)
{
	u32 n = 0, i, k;

	for (i = 0; i < count; i++) {
		const struct place *p = find(j, places[i]);

		for (k = 0; p && k < p->count && n < JVM_FRAMES; k++)
			to[n++] = p->frames[k];
		if (p && k < p->count)
			*flags |= SAMPLE_CUT;
	}
	return n;
}
