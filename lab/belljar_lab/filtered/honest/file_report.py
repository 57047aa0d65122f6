# SPDX-License-Identifier: Apache-2.0
lines = [f"{number},{number ** 2}" for number in range(1, 11)]
with open("squares.csv", "w", encoding="utf-8") as file:
    file.write("number,square\n")
    file.writelines(line + "\n" for line in lines)
with open("squares.csv", encoding="utf-8") as file:
    head, *rows = file.read().splitlines()
print(head, len(rows), sum(int(row.split(",")[1]) for row in rows))
