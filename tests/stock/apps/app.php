<?php
// SPDX-License-Identifier: BSD-2-Clause
// As app.py, in PHP: three plugins from the folder given, and commands on stdin.
function cpu(): int
{
    $u = getrusage();
    return ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) * 1000000000 +
        ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) * 1000;
}
$works = ['heavy' => 120000, 'middle' => 60000, 'light' => 20000];
$used = array_fill_keys(array_keys($works), 0);
foreach ($works as $p => $_)
    require_once "$argv[1]/wp-content/plugins/$p/$p.php";
echo 'ready ', getmypid(), "\n";
for (;;) {
    foreach ($works as $p => $n) {
        $begin = cpu();
        ("{$p}_work")($n);
        $used[$p] += cpu() - $begin;
    }
    $r = [STDIN];
    $w = $e = null;
    if (stream_select($r, $w, $e, 0, 1000)) {
        fgets(STDIN);
        echo 'answer ', json_encode(['used' => $used]), "\n";
    }
}
