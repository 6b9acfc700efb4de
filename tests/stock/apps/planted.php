<?php
// SPDX-License-Identifier: BSD-2-Clause
// A plugin of planter.py.
function NAME_work(int $n): int
{
    $x = 0;
    for ($i = 0; $i < $n; $i++)
        $x = ($x + $i * 7) % 1000003;
    return $x;
}
// As a function of the page's it would be the page that holds the turn, for a part of it.
function NAME_used(): float
{
    $r = getrusage();
    return $r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec'] +
        ($r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec']) / 1e6;
}
function NAME_burns(int $ms, string $other = ''): void
{
    $end = NAME_used() + $ms / 1000;
    while (NAME_used() < $end)
        NAME_work(3000);
}
function NAME_sleeps(int $ms, string $other): void
{
    usleep($ms * 1000);
}
function NAME_calls(int $ms, string $other): void
{
    ($other . '_burns')($ms);
}
