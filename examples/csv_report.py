# SPDX-License-Identifier: Apache-2.0
# Reads a year of orders, prints what sold where, and draws the months as an SVG chart.
# Standard library only. usage: csv_report.py [sales.csv [chart.svg]]
import csv
import sys
from collections import defaultdict
from xml.sax.saxutils import escape

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
COLOURS = {"North": "#4477aa", "South": "#ee6677", "East": "#228833", "West": "#ccbb44"}


def read_orders(path):
    """Yields (month, region, product, revenue); counts what cannot be read."""
    skipped = 0
    orders = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                month = int(row["date"][5:7]) - 1
                discount = float(row["discount_percent"] or 0)
                revenue = int(row["units"]) * float(row["unit_price"]) * (1 - discount / 100)
            except ValueError:
                skipped += 1
                continue
            orders.append((month, row["region"].strip().title(), row["product"], revenue))
    return orders, skipped


def bar_chart(by_month, regions, title):
    """One bar for each month, stacked by region."""
    width, height, left, bottom, top = 760, 380, 70, 40, 50
    most = max(sum(month.values()) for month in by_month)
    step = 10 ** (len(str(int(most))) - 1)
    if most / step < 5:
        step = max(1, step // (5 if most / step < 2 else 2))
    limit = (int(most / step) + 1) * step
    scale = (height - bottom - top) / limit
    slot = (width - left - 20) / 12
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="22" font-size="16">{escape(title)}</text>',
    ]
    for value in range(0, limit + 1, step):
        y = height - bottom - value * scale
        out.append(f'<line x1="{left}" x2="{width - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,}</text>')
    for index, month in enumerate(by_month):
        x, y = left + index * slot, height - bottom
        for region in regions:
            tall = month[region] * scale
            y -= tall
            out.append(
                f'<rect x="{x + 6:.1f}" y="{y:.1f}" width="{slot - 12:.1f}" height="{tall:.1f}" '
                f'fill="{COLOURS.get(region, "#888")}"/>'
            )
        out.append(
            f'<text x="{x + slot / 2:.1f}" y="{height - bottom + 18}" '
            f'text-anchor="middle">{MONTHS[index]}</text>'
        )
    for index, region in enumerate(regions):
        x = width - 20 - 80 * (len(regions) - index)
        out.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{COLOURS.get(region, "#888")}"/>')
        out.append(f'<text x="{x + 17}" y="22">{escape(region)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else "sales.csv"
    target = sys.argv[2] if len(sys.argv) > 2 else "chart.svg"
    orders, skipped = read_orders(source)
    by_month = [defaultdict(float) for _ in MONTHS]
    by_region = defaultdict(float)
    by_product = defaultdict(float)
    for month, region, product, revenue in orders:
        by_month[month][region] += revenue
        by_region[region] += revenue
        by_product[product] += revenue
    total = sum(by_region.values())
    best = max(range(12), key=lambda index: sum(by_month[index].values()))
    print(f"{len(orders)} orders, {total:,.2f} in all; {skipped} rows could not be read")
    for name, value in sorted(by_region.items(), key=lambda item: -item[1]):
        print(f"  {name:<17} {value:>10,.2f}  {100 * value / total:5.1f} %")
    for name, value in sorted(by_product.items(), key=lambda item: -item[1]):
        print(f"  {name:<17} {value:>10,.2f}  {100 * value / total:5.1f} %")
    print(f"best month: {MONTHS[best]}, {sum(by_month[best].values()):,.2f}")
    with open(target, "w", encoding="utf-8") as file:
        file.write(bar_chart(by_month, sorted(by_region), f"Revenue by month, {total:,.0f} in all"))


main()
