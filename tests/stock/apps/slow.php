<?php
// SPDX-License-Identifier: BSD-2-Clause
// A page with three plugins that are quick; /?slow: heavy takes 2 s of CPU time.
foreach (['heavy', 'middle', 'light'] as $p)
    require_once __DIR__ . "/wp-content/plugins/$p/$p.php";
function used(): float
{
    $r = getrusage();
    return $r['ru_utime.tv_sec'] + $r['ru_stime.tv_sec'] +
        ($r['ru_utime.tv_usec'] + $r['ru_stime.tv_usec']) / 1e6;
}
$end = used() + (isset($_GET['slow']) ? 2 : 0);
do
    heavy_work(20000);
while (used() < $end);
middle_work(2000);
light_work(2000);
echo "answer\n";
