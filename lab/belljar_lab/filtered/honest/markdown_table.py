# SPDX-License-Identifier: Apache-2.0
def table(head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(str(cell).ljust(width) for cell, width in zip(line, widths))
                     + " |" for line in lines)


print(table(["command", "what it does"], [
    ["`ls -l`", "lists files"], ["`rm -rf build`", "removes the build"],
    ["`curl -O https://example.com/a`", "fetches a file"], ["`python -c 'exec(1)'`", "runs code"]]))
