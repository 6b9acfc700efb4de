/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for the ring buffer and draining it.
 *
 * Programs submit without a wake-up unless a quarter of the ring is filled or
 * 50 ms have gone since the last wake-up (bpf/emit.bpf.h). So after data the
 * reader looks again every 50 ms. It may sleep without a limit once it has
 * found nothing for longer than that and nothing is reserved: whoever reserves
 * from then on will see that the last wake-up is long ago. An idle target
 * wakes nobody.
 */
#include "source/live_int.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOK_NS (50 * NSEC_PER_MSEC)
#define QUIET_NS (60 * NSEC_PER_MSEC)

/* epoll data of the ring itself; pids are never 0. */
#define RING_KEY 0

static int sample(void *ctx, void *data, size_t size)
{
	struct live *l = ctx;

	live_record(l, data, size);
	/* libbpf counts this record as consumed whatever is returned. */
	return ++l->ring.taken >= RING_DRAIN || l->failed ? -EAGAIN : 0;
}

int ring_open(struct live_ring *r, struct live *l, struct err *err)
{
	/* Edge-triggered: only programs' wake-ups count, not data they chose
	 * not to wake anybody for. */
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.u64 = RING_KEY };
	int fd = tracer_ring_fd(l->t);
	void *p;

	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->rb = ring_buffer__new(fd, sample, l, NULL);
	if (!r->rb)
		return err_set(err, -errno, "mapping the ring buffer (%" PRIu64 " bytes): %s",
			       tracer_ring_bytes(l->t), strerror(errno));
	p = mmap(NULL, r->page, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		r->consumer = p;
		p = mmap(NULL, r->page, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
	}
	if (p == MAP_FAILED)
		return err_set(err, -errno, "mapping the ring buffer's positions: %s",
			       strerror(errno));
	r->producer = p;
	r->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epfd < 0 || epoll_ctl(r->epfd, EPOLL_CTL_ADD, fd, &e))
		return err_set(err, -errno, "waiting for the ring buffer: %s", strerror(errno));
	return 0;
}

void ring_close(struct live_ring *r)
{
	if (r->epfd >= 0)
		close(r->epfd);
	if (r->consumer)
		munmap((void *)(uintptr_t)r->consumer, r->page);
	if (r->producer)
		munmap((void *)(uintptr_t)r->producer, r->page);
	ring_buffer__free(r->rb);
	memset(r, 0, sizeof(*r));
	r->epfd = -1;
}

int ring_watch_pidfd(struct live_ring *r, int pidfd, u32 pid)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = pid };

	return epoll_ctl(r->epfd, EPOLL_CTL_ADD, pidfd, &e) ? -errno : 0;
}

u64 ring_reserved(const struct live_ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

u64 ring_drained(const struct live_ring *r)
{
	return __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
}

/* Nothing written, and nothing reserved that is still being written. */
static bool is_empty(const struct live_ring *r)
{
	return ring_reserved(r) == ring_drained(r);
}

int ring_drain(struct live *l)
{
	struct live_ring *r = &l->ring;
	int n;

	r->taken = 0;
	n = ring_buffer__consume(r->rb);
	l->more = n == -EAGAIN && !l->failed;
	if (l->failed)
		return l->failed;
	if (n < 0 && n != -EAGAIN)
		return n;
	if (r->taken)
		r->busy_ns = clock_mono_ns();
	return (int)r->taken;
}

/* Notes which processes have ended; the ring's own event only wakes. */
static void take_events(struct live *l)
{
	struct epoll_event e[64];
	int i, n = epoll_wait(l->ring.epfd, e, ARRAY_SIZE(e), 0);

	for (i = 0; i < n; i++) {
		struct process *p =
			e[i].data.u64 == RING_KEY ? NULL : process_find(l, (u32)e[i].data.u64);

		if (p)
			p->ended = true;
	}
}

static int to_ms(u64 ns)
{
	u64 ms = ns / NSEC_PER_MSEC + (ns % NSEC_PER_MSEC != 0);

	return ms > 1000000 ? 1000000 : (int)ms;
}

int ring_wait(struct live *l, u64 until_ns, int stop_fd)
{
	struct pollfd p[2] = { { .fd = l->ring.epfd, .events = POLLIN },
			       { .fd = stop_fd, .events = POLLIN } };
	u64 now = clock_mono_ns(), rescan = process_next_rescan(l), end = until_ns;
	int n;

	if (now - l->ring.busy_ns < QUIET_NS || !is_empty(&l->ring))
		end = min_u64(end, now + LOOK_NS);
	end = min_u64(end, min_u64(rescan, live_rings_next(l)));
	n = poll(p, stop_fd >= 0 ? 2 : 1,
		 end == UINT64_MAX ? -1
		 : end <= now      ? 0
				   : to_ms(end - now));
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[0].revents)
		take_events(l);
	return p[1].revents != 0;
}
