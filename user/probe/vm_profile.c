/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of stock VMs: text -> struct vm_profile. */
#include "probe/vm.h"

#include "base/kind.h"
#include "probe/bad_line.h"
#include "probe/embedded.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[VM_ROLES] = {
	[VM_GC_BEGIN] = "gc_begin",
	[VM_GC_END] = "gc_end",
	[VM_SWEEP_BEGIN] = "sweep_begin",
	[VM_SWEEP_END] = "sweep_end",
	[VM_REQUEST_BEGIN] = "request_begin",
	[VM_REQUEST_END] = "request_end",
	[VM_STATUS] = "status",
	[VM_COMMIT] = "commit",
	[VM_ROLLBACK] = "rollback",
	[VM_STALL_BEGIN] = "stall_begin",
	[VM_STALL_END] = "stall_end",
	[VM_CALL_BEGIN] = "call_begin",
	[VM_CALL_END] = "call_end",
	[VM_CALL_SWITCH] = "call_switch",
};

static const char *const kinds[VM_KINDS] = {
	[VM_CPYTHON] = "cpython", [VM_PHP] = "php",           [VM_RUBY] = "ruby",
	[VM_JVM] = "jvm",         [VM_POSTGRES] = "postgres",
};

#define OFFSET_NAME(name) [OFF_##name] = #name,
static const char *const offsets[OFF_COUNT] = { VM_CPYTHON_OFFSETS(OFFSET_NAME) VM_PHP_OFFSETS(
	OFFSET_NAME) VM_RUBY_OFFSETS(OFFSET_NAME) };

const char *vm_role_name(enum vm_role role)
{
	return roles[role];
}

const char *vm_probe(const struct vm_profile *p, enum vm_role role, char *provider)
{
	const char *name = p->probes[role], *colon = strchr(name, ':');

	if (!*name)
		return NULL;
	if (!colon) {
		strcpy(provider, p->provider);
		return name;
	}
	memcpy(provider, name, (size_t)(colon - name));
	provider[colon - name] = 0;
	return colon + 1;
}

static int find(const char *const *list, int count, const char *word)
{
	int i;

	for (i = 0; i < count; i++)
		if (list[i] && !strcmp(list[i], word))
			return i;
	return -1;
}

struct parse {
	struct vm_profile *p;
	struct bad_line bad;
};

static int set_regex(struct parse *c, regex_t *to, const char *value)
{
	int r = regcomp(to, value, REG_EXTENDED);
	char why[120];

	if (!r)
		return 1;
	regerror(r, to, why, sizeof(why));
	return bad_line(&c->bad, value, why);
}

static int take_profile(struct parse *c, const char *key, const char *value)
{
	struct vm_profile *p = c->p;
	int kind;

	if (!strcmp(key, "name"))
		return bad_line_text(&c->bad, p->name, VM_NAME_MAX, value);
	if (!strcmp(key, "provider"))
		return bad_line_text(&c->bad, p->provider, VM_NAME_MAX, value);
	if (!strcmp(key, "symbol"))
		return bad_line_text(&c->bad, p->symbol, VM_NAME_MAX, value);
	if (!strcmp(key, "version"))
		return bad_line_text(&c->bad, p->version, VM_NAME_MAX, value);
	if (!strcmp(key, "sizes"))
		return bad_line_text(&c->bad, p->sizes, VM_NAME_MAX, value);
	if (!strcmp(key, "loop"))
		return bad_line_yes(&c->bad, &p->loop, value);
	if (!strcmp(key, "bursts"))
		return bad_line_yes(&c->bad, &p->bursts, value);
	if (!strcmp(key, "scope")) {
		p->scope_file = !strcmp(value, "file");
		return p->scope_file || !strcmp(value, "process") ||
		       bad_line(&c->bad, value, "process or file is wanted");
	}
	if (!strcmp(key, "file")) {
		if (p->has_file)
			return bad_line(&c->bad, value, "set twice");
		p->has_file = set_regex(c, &p->file, value);
		return p->has_file;
	}
	if (!strcmp(key, "vm")) {
		kind = find(kinds, VM_KINDS, value);
		p->kind = kind < 0 ? VM_NONE : (enum vm_kind)kind;
		return kind >= 0 || bad_line(&c->bad, value,
					     "not a known VM: cpython, php, ruby, jvm, postgres");
	}
	return bad_line(&c->bad, key, "no such key in [profile]");
}

/* KIND = NAME REGEX */
static int take_rule(struct parse *c, const char *key, const char *value, bool named)
{
	struct vm_profile *p = c->p;
	struct vm_rule *r = &p->rules[p->rule_count];
	size_t n = strcspn(value, " \t");
	unsigned int kind = kind_of(key, strlen(key));

	if (!kind || kind > VMSPAN_TENANT)
		return bad_line(&c->bad, key, "no such kind: addon, page, package, plugin, tenant");
	if (p->rule_count == VM_RULES_MAX)
		return bad_line(&c->bad, key, "more rules than a profile may have");
	if (!value[n])
		return bad_line(&c->bad, value, "a name and a regular expression are wanted");
	if (n >= sizeof(r->name))
		return bad_line(&c->bad, value, "the name is too long");
	memcpy(r->name, value, n);
	r->name[n] = 0;
	if (!set_regex(c, &r->regex, value + n + strspn(value + n, " \t")))
		return 0;
	r->kind = (u8)kind;
	r->named = named;
	p->rule_count++;
	return 1;
}

static const char *const idle_keys[] = { "in", "at", "through", "pool" }; /* enum vm_frame_is */

/* KEY = REGEX FUNCTION */
static int take_idle(struct parse *c, const char *key, const char *value)
{
	struct vm_profile *p = c->p;
	size_t n = strcspn(value, " \t");
	const char *function = value + n + strspn(value + n, " \t");
	int is = find(idle_keys, ARRAY_SIZE(idle_keys), key);
	char file[VM_WORDS_MAX];
	struct vm_idle *r;

	if (is < 0)
		return bad_line(&c->bad, key, "no such key in [idle]: in, at, through, pool");
	if (p->idle_count == VM_IDLE_MAX)
		return bad_line(&c->bad, key, "more of them than a profile may have");
	if (!*function)
		return bad_line(&c->bad, value, "a regular expression and a function are wanted");
	if (n >= sizeof(file))
		return bad_line(&c->bad, value, "the regular expression is too long");
	r = &p->idle[p->idle_count];
	if (!bad_line_text(&c->bad, r->function, VM_NAME_MAX, function))
		return 0;
	memcpy(file, value, n);
	file[n] = 0;
	if (!set_regex(c, &r->file, file))
		return 0;
	r->is = 1u << is;
	p->idle_count++;
	return 1;
}

/* [layout VERSION] */
static int take_layout(struct parse *c, const char *version, const char *key, const char *value)
{
	struct vm_profile *p = c->p;
	struct vm_layout *l = p->layout_count ? &p->layouts[p->layout_count - 1] : NULL;
	unsigned long v;
	char *end;
	int at;

	if (!l || strcmp(l->version, version)) {
		if (p->layout_count == VM_LAYOUTS_MAX)
			return bad_line(&c->bad, key, "more layouts than a profile may have");
		l = &p->layouts[p->layout_count++];
		snprintf(l->version, sizeof(l->version), "%s", version);
	}
	if (!strcmp(key, "build_id")) {
		if (strlen(value) >= sizeof(l->build_id))
			return bad_line(&c->bad, value, "the value is too long");
		strcpy(l->build_id, value);
		return 1;
	}
	at = find(offsets, OFF_COUNT, key);
	if (at < 0)
		return bad_line(&c->bad, key, "no such offset");
	v = strtoul(value, &end, 0);
	if (end == value || *end || v > UINT16_MAX)
		return bad_line(&c->bad, value, "a number of bytes is wanted, below 65536");
	l->off[at] = (u16)v;
	l->set[at] = true;
	return 1;
}

static int take_calls(struct parse *c, const char *key, const char *value)
{
	struct vm_profile *p = c->p;

	if (!strcmp(key, "env"))
		return bad_line_text(&c->bad, p->calls.env, VM_NAME_MAX, value);
	if (!strcmp(key, "only"))
		return bad_line_text(&c->bad, p->calls.only, VM_NAME_MAX, value);
	if (!strcmp(key, "none"))
		return bad_line_text(&c->bad, p->calls.none, sizeof(p->calls.none), value);
	if (!strcmp(key, "start_with"))
		return bad_line_text(&c->bad, p->calls.flag_name, VM_NAME_MAX, value);
	if (strcmp(key, "flag"))
		return bad_line(&c->bad, key, "no such key in [calls]");
	if (p->calls.has_flag)
		return bad_line(&c->bad, value, "set twice");
	p->calls.has_flag = set_regex(c, &p->calls.flag, value);
	return p->calls.has_flag;
}

/* ROLE = WHY, ROLE_do = ADVICE */
static int take_silent(struct parse *c, const char *key, const char *value)
{
	size_t n = strlen(key);
	bool advice = n > 3 && !strcmp(key + n - 3, "_do");
	char name[VM_NAME_MAX];
	int role;

	snprintf(name, sizeof(name), "%.*s", (int)(advice ? n - 3 : n), key);
	role = find(roles, VM_ROLES, name);
	if (role < 0)
		return bad_line(&c->bad, key, "no such role in [silent]");
	return bad_line_text(&c->bad, advice ? c->p->silent_do[role] : c->p->silent[role],
			     VM_WORDS_MAX, value);
}

static int take(void *ctx, const char *section, const char *key, const char *value)
{
	struct parse *c = ctx;
	int role;

	if (!strcmp(section, "profile"))
		return take_profile(c, key, value);
	if (!strcmp(section, "probes")) {
		role = find(roles, VM_ROLES, key);
		return role < 0 ? bad_line(&c->bad, key, "no such role in [probes]")
				: bad_line_text(&c->bad, c->p->probes[role], VM_NAME_MAX, value);
	}
	if (!strcmp(section, "calls"))
		return take_calls(c, key, value);
	if (!strcmp(section, "silent"))
		return take_silent(c, key, value);
	if (!strcmp(section, "groups") || !strcmp(section, "fallback"))
		return take_rule(c, key, value, section[0] == 'g');
	if (!strcmp(section, "idle"))
		return take_idle(c, key, value);
	if (!strncmp(section, "layout ", 7))
		return take_layout(c, section + 7, key, value);
	return bad_line_section(&c->bad, section);
}

/* The offsets a VM's layout must have. */
static const char *missing_offset(const struct vm_profile *p, const struct vm_layout *l)
{
#define OFFSET_OF(name) OFF_##name,
	static const u8 cpython[] = { VM_CPYTHON_OFFSETS(OFFSET_OF) };
	static const u8 php[] = { VM_PHP_OFFSETS(OFFSET_OF) };
	static const u8 ruby[] = { VM_RUBY_OFFSETS(OFFSET_OF) };
	const u8 *list = p->kind == VM_CPYTHON ? cpython : p->kind == VM_PHP ? php : ruby;
	size_t n = p->kind == VM_CPYTHON ? sizeof(cpython)
		   : p->kind == VM_PHP   ? sizeof(php)
		   : p->kind == VM_RUBY  ? sizeof(ruby)
					 : 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (!l->set[list[i]])
			return offsets[list[i]];
	return NULL;
}

int vm_profile_parse(const char *text, const char *where, struct vm_profile *p, struct err *err)
{
	struct parse c = { .p = p };
	const char *lacks;
	int line;
	u32 i;

	memset(p, 0, sizeof(*p));
	line = ini_parse_string(text, take, &c);
	if (line < 0)
		return err_set(err, -ENOMEM, "%s: no memory to read the profile", where);
	if (line)
		return bad_line_show(&c.bad, text, where, line, err);
	if (!p->name[0] || p->kind == VM_NONE || !p->has_file)
		return err_set(err, -EINVAL, "%s: [profile] needs name, vm and file", where);
	for (i = 0; i < p->layout_count; i++) {
		lacks = missing_offset(p, &p->layouts[i]);
		if (lacks)
			return err_set(err, -EINVAL, "%s: [layout %s] lacks %s", where,
				       p->layouts[i].version, lacks);
	}
	return 0;
}

void vm_profile_free(struct vm_profile *p)
{
	u32 i;

	if (p->has_file)
		regfree(&p->file);
	if (p->calls.has_flag)
		regfree(&p->calls.flag);
	for (i = 0; i < p->rule_count; i++)
		regfree(&p->rules[i].regex);
	for (i = 0; i < p->idle_count; i++)
		regfree(&p->idle[i].file);
	memset(p, 0, sizeof(*p));
}

static int look_for_vm(void *ctx, const char *section, const char *key, const char *value)
{
	(void)value;
	*(bool *)ctx |= !strcmp(section, "profile") && !strcmp(key, "vm");
	return 1;
}

bool vm_profile_is(const char *text)
{
	bool is = false;

	ini_parse_string(text, look_for_vm, &is);
	return is;
}

/* ---- Those there are ---- */

#define PROFILES_MAX 32

static const struct vm_profile *known[PROFILES_MAX];
static int known_count;
static bool built_in;

int vm_profile_add(const char *text, const char *where, struct err *err)
{
	struct vm_profile *p;
	int r;

	if (known_count == PROFILES_MAX)
		return err_set(err, -E2BIG, "%s: more profiles than %d", where, PROFILES_MAX);
	p = malloc(sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "no memory");
	r = vm_profile_parse(text, where, p, err);
	if (r) {
		vm_profile_free(p);
		free(p);
		return r;
	}
	known[known_count++] = p;
	return 0;
}

int vm_profiles(const struct vm_profile *const **list, struct err *err)
{
	const struct embedded *e;
	size_t count = profiles_embedded(&e), i;
	int r;

	for (i = 0; i < count && !built_in; i++) {
		if (!vm_profile_is(e[i].text))
			continue;
		r = vm_profile_add(e[i].text, e[i].name, err);
		if (r)
			return r;
	}
	built_in = true;
	*list = known;
	return known_count;
}

/* ---- Rules ---- */

static void expand(const struct vm_rule *r, const char *file, const regmatch_t *m, char *to,
		   size_t cap)
{
	const char *s;
	size_t n = 0;

	for (s = r->name; *s && n + 1 < cap; s++) {
		const regmatch_t *g;
		size_t len;

		if (s[0] != '\\' || s[1] < '1' || s[1] > '9') {
			to[n++] = *s;
			continue;
		}
		g = &m[*++s - '0'];
		len = g->rm_so < 0 ? 0 : (size_t)(g->rm_eo - g->rm_so);
		if (len > cap - 1 - n)
			len = cap - 1 - n;
		memcpy(to + n, file + (g->rm_so < 0 ? 0 : g->rm_so), len);
		n += len;
	}
	to[n] = 0;
}

bool vm_group(const struct vm_profile *p, const char *file, u8 *kind, bool *named, char *name,
	      size_t cap)
{
	regmatch_t m[10];
	u32 i;

	for (i = 0; i < p->rule_count; i++) {
		const struct vm_rule *r = &p->rules[i];

		if (regexec(&r->regex, file, ARRAY_SIZE(m), m, 0))
			continue;
		*kind = r->kind;
		*named = r->named;
		expand(r, file, m, name, cap);
		return name[0];
	}
	return false;
}

u32 vm_frame_is(const struct vm_profile *p, const char *file, const char *function)
{
	u32 is = 0, i;

	for (i = 0; i < p->idle_count; i++)
		if (!strcmp(p->idle[i].function, function) &&
		    !regexec(&p->idle[i].file, file, 0, NULL, 0))
			is |= p->idle[i].is;
	return is;
}
