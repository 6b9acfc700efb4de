# SPDX-License-Identifier: BSD-2-Clause
module NAME
  def self.inner(n)
    x = 0
    i = 0
    while i < n
      x = (x + i * 7) % 1000003
      i += 1
    end
    x
  end

  def self.work(n)
    inner(n)
  end
end
