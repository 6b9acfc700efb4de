<?php
// SPDX-License-Identifier: BSD-2-Clause
function NAME_inner(int $n): int
{
    $x = 0;
    for ($i = 0; $i < $n; $i++)
        $x = ($x + $i * 7) % 1000003;
    return $x;
}
function NAME_work(int $n): int
{
    return NAME_inner($n);
}
