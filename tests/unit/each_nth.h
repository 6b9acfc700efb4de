/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Under sanitizers what a test does takes some ten times as long. Where it tries much that is alike, it tries each
 * Nth there; all of it where it runs as it ships, which it does in every run if it includes this.
 */
#ifndef TESTS_EACH_NTH_H
#define TESTS_EACH_NTH_H

#ifdef __SANITIZE_ADDRESS__
#define EACH_NTH(n) (n)
#else
#define EACH_NTH(n) 1
#endif

#endif
