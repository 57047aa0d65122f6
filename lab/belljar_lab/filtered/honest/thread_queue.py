# SPDX-License-Identifier: Apache-2.0
import queue
import threading

jobs, results = queue.Queue(), []


def work():
    while (job := jobs.get()) is not None:
        results.append(job * job)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for job in [*range(20), None, None, None]:
    jobs.put(job)
for thread in threads:
    thread.join()
print(len(results), sum(results))
