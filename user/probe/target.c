/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/target.h"
#include "base/task_stat.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/uio.h>

#define LOG_BLOCKS_MAX 4096
#define LOG_BLOCK_MAX (16u << 20)
#define LOG_BYTES_MAX (64ull << 20)

typedef ssize_t (*copy_fn)(pid_t pid, const struct iovec *local, unsigned long locals,
			   const struct iovec *remote, unsigned long remotes, unsigned long flags);

static int copy(copy_fn fn, u32 pid, const struct iovec *local, u64 address)
{
	struct iovec remote = { (void *)(uintptr_t)address, local->iov_len };
	ssize_t r = fn((pid_t)pid, local, 1, &remote, 1, 0);

	if (r < 0 && errno == ESRCH) {
		u32 living = task_living(pid);

		errno = ESRCH;
		if (living != pid)
			r = fn((pid_t)living, local, 1, &remote, 1, 0);
	}
	if (r < 0)
		return -errno;
	return (size_t)r == local->iov_len ? 0 : -EFAULT;
}

int target_read(u32 pid, u64 address, void *to, size_t n)
{
	return copy(process_vm_readv, pid, &(struct iovec){ to, n }, address);
}

int target_write(u32 pid, u64 address, const void *from, size_t n)
{
	return copy(process_vm_writev, pid, &(struct iovec){ (void *)(uintptr_t)from, n }, address);
}

int target_registry(u32 pid, u64 address, struct vmspan_registry *head)
{
	int r = target_read(pid, address, head, sizeof(*head));

	if (r)
		return r;
	if (head->magic != VMSPAN_MAGIC)
		return -EBADMSG;
	return head->abi == VMSPAN_ABI || head->abi == ABI1 ? 0 : -ENOTSUP;
}

int target_definer(u32 pid, u64 copy, u64 *address, bool *abi1)
{
	struct vmspan_registry head;
	int r = target_registry(pid, copy, &head);

	if (r)
		return r;
	*abi1 = head.abi == ABI1;
	*address = *abi1 ? copy : head.process;
	return *address ? 0 : -EAGAIN;
}

int target_defined(u32 pid, u64 address, bool abi1, u32 count[3])
{
	return target_read(pid,
			   address + (abi1 ? offsetof(struct abi1_registry, group_last)
					   : offsetof(struct vmspan_process, group_last)),
			   count, 3 * sizeof(count[0]));
}

int target_abi1(u32 pid, u64 address, struct abi1_registry *head)
{
	int r = target_read(pid, address, head, sizeof(*head));

	if (r)
		return r;
	if (head->magic != VMSPAN_MAGIC)
		return -EBADMSG;
	return head->abi == ABI1 ? 0 : -ENOTSUP;
}

/* The first block; 0 where there is none. */
static int log_of(u32 pid, u64 registry, bool abi1, u64 *first)
{
	struct abi1_registry old;
	u64 head[2]; /* of struct vmspan_process: magic, abi, log */
	int r;

	_Static_assert(offsetof(struct vmspan_process, log) == sizeof(head[0]), "what is read");
	if (abi1) {
		r = target_abi1(pid, registry, &old);
		*first = r ? 0 : old.log;
		return r;
	}
	r = target_read(pid, registry, head, sizeof(head));
	if (!r && head[0] != (VMSPAN_MAGIC | (u64)VMSPAN_ABI << 32))
		r = -EBADMSG;
	*first = r ? 0 : head[1];
	return r;
}

static int broken(struct log_cursor *c)
{
	c->broken = true;
	return -EBADMSG;
}

/* One block from c->used on; *next is the one behind it. */
static int read_block(u32 pid, struct log_cursor *c, u64 *next, log_fn fn, void *ctx)
{
	struct vmspan_log head;
	u32 bytes;
	void *data;
	int r;

	*next = 0;
	c->unread = target_read(pid, c->block, &head, sizeof(head));
	if (c->unread)
		return 0;
	/* `next` was read no later than `used`, and a block with a successor is
	 * complete: nothing is missed by going on to it. */
	if (head.used > head.size || head.size > LOG_BLOCK_MAX || head.used % VMSPAN_SLOT ||
	    head.used < c->used)
		return broken(c);
	bytes = head.used - (u32)c->used;
	c->bytes += bytes;
	if (c->bytes > LOG_BYTES_MAX)
		return broken(c);
	if (bytes) {
		data = malloc(bytes);
		c->unread = !data;
		if (!data)
			return 0;
		r = target_read(pid, c->block + sizeof(head) + c->used, data, bytes);
		if (!r) {
			c->used += bytes;
			r = fn(ctx, data, bytes);
		} else {
			head.next = 0;
			c->unread = true;
			r = 0;
		}
		free(data);
		if (r)
			return r;
	}
	*next = head.next;
	return 0;
}

int target_log_read(u32 pid, u64 registry, bool abi1, struct log_cursor *c, log_fn fn, void *ctx)
{
	u64 next;
	int r;

	if (c->broken)
		return 0;
	if (!c->block) {
		c->unread = log_of(pid, registry, abi1, &c->block);
		if (!c->block)
			return 0;
	}
	/* A log that runs in a circle ends at one of the limits. */
	for (;;) {
		r = read_block(pid, c, &next, fn, ctx);
		if (r || !next)
			return r;
		if (++c->blocks > LOG_BLOCKS_MAX)
			return broken(c);
		c->block = next;
		c->used = 0;
	}
}
