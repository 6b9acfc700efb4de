/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has sent a packet of the loopback device (TCP and UDP between processes of
 * this machine). The kernel delivers it in a software interrupt, in which nobody is
 * to be seen; but it is the same packet, on the same CPU, that a thread handed over
 * a moment before. What the kernel sends by itself (a segment that had to wait for an
 * acknowledgement) has no sender.
 *
 * Optional ("?"): loaded for exact mode.
 */
#include "bpf/peer.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define DEVICE_LOOPBACK 8 /* IFF_LOOPBACK */

/* The packet's address as a number, which pointers are not to the verifier. */
static __always_inline __u64 number_of(const struct sk_buff *packet)
{
	__u64 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), &packet);
	return n;
}

/* Packets lie 256 bytes apart. */
static __always_inline struct flight *flight_of(struct flights *f, __u64 packet)
{
	return &f->at[packet >> 8 & (FLIGHTS - 1)];
}

SEC("?tp_btf/net_dev_queue")
int BPF_PROG(net_dev_queue, struct sk_buff *packet)
{
	__u64 number = number_of(packet);
	struct flights *f;
	struct flight *at;

	if (!(BPF_CORE_READ(packet, dev, flags) & DEVICE_LOOPBACK))
		return 0;
	f = flights_here();
	if (!f)
		return 0;
	at = flight_of(f, number);
	at->packet = number;
	if (interrupted())
		at->from.pid = 0;
	else
		peer_current(&at->from);
	return 0;
}

SEC("?tp_btf/netif_receive_skb")
int BPF_PROG(netif_receive_skb, struct sk_buff *packet)
{
	__u64 number = number_of(packet);
	struct flights *f = flights_here();
	struct flight *at;

	if (!f)
		return 0;
	f->now.pid = 0;
	at = flight_of(f, number);
	/* One that never arrived leaves its address to others. */
	if (at->packet != number || !(BPF_CORE_READ(packet, dev, flags) & DEVICE_LOOPBACK))
		return 0;
	f->now = at->from;
	at->packet = 0;
	return 0;
}
