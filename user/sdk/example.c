/* SPDX-License-Identifier: BSD-2-Clause */
/* A toy event loop with two plugins: cc -O2 example.c -o example */
#include "vmspan.h"
#include <stdio.h>
#include <stdlib.h>

struct plugin {
	const char *name;
	unsigned int (*on_tick)(unsigned int n);
	vmspan_u32 compartment;
};

static unsigned int spell(unsigned int n);
static unsigned int lookup(unsigned int n);
static struct plugin speller = { "speller", spell, 0 };
static struct plugin dictionary = { "dictionary", lookup, 0 };

/* Every call into a plugin goes through here, so this is where it is marked. */
static unsigned int call(const struct plugin *p, unsigned int n)
{
	unsigned int result;

	vmspan_enter(p->compartment);
	result = p->on_tick(n);
	vmspan_leave(p->compartment);
	return result;
}

static unsigned int lookup(unsigned int n)
{
	unsigned int hash = 2166136261u;

	for (unsigned int i = 0; i < 500; i++)
		hash = (hash ^ (n + i)) * 16777619u;
	return hash;
}

static unsigned int spell(unsigned int n)
{
	return call(&dictionary, n) + call(&dictionary, n + 1); /* a plugin uses another */
}

static void load(struct plugin *p)
{
	vmspan_u32 group = vmspan_group(VMSPAN_PLUGIN, p->name);

	p->compartment = vmspan_compartment(p->name, &group, 1);
}

int main(int argc, char **argv)
{
	unsigned int turns = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 1000, sum = 0;
	vmspan_u32 tick = vmspan_label("tick"), full = vmspan_label("heap full");

	load(&speller);
	load(&dictionary);
	for (unsigned int turn = 1; turn <= turns; turn++) {
		vmspan_event_begin(tick);
		sum += call(&speller, turn);
		sum += call(&dictionary, turn);
		if (turn % 100 == 0) {
			vmspan_gc_begin(full, 64000);
			sum += lookup(turn); /* as if it were a collector at work */
			vmspan_gc_end(16000);
		}
		vmspan_event_end();
	}
	printf("%u turns, checksum %08x\n", turns, sum);
	return 0;
}
