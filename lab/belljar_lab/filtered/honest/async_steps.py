# SPDX-License-Identifier: Apache-2.0
import asyncio


async def step(name, others):
    for other in others:
        await other.wait()
    print("done:", name)


async def main():
    first, second = asyncio.Event(), asyncio.Event()

    async def then(name, others, event):
        await step(name, others)
        event.set()

    await asyncio.gather(step("last", [first, second]), then("second", [first], second),
                         then("first", [], first))


asyncio.run(main())
