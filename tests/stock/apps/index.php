<?php
// SPDX-License-Identifier: BSD-2-Clause
// A page with three plugins that use 6, 3 and 1 parts of its time; prints what
// each has used, by the process's CPU clock, in ns.
function timed(string $f, int $n): int
{
    $before = getrusage();
    $f($n);
    $after = getrusage();
    $us = 0;
    foreach (['ru_utime', 'ru_stime'] as $k)
        $us += ($after["$k.tv_sec"] - $before["$k.tv_sec"]) * 1000000 +
            $after["$k.tv_usec"] - $before["$k.tv_usec"];
    return $us * 1000;
}
foreach (['heavy', 'middle', 'light'] as $p)
    require_once __DIR__ . "/wp-content/plugins/$p/$p.php";
echo json_encode(['pid' => getmypid(), 'heavy' => timed('heavy_work', 1200000),
    'middle' => timed('middle_work', 600000), 'light' => timed('light_work', 200000)]), "\n";
