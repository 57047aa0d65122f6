# SPDX-License-Identifier: Apache-2.0
import sqlite3

with sqlite3.connect("orders.db") as base:
    base.execute("create table orders (id integer primary key, customer text, total real)")
    base.executemany("insert into orders (customer, total) values (?, ?)",
                     [("Ann", 12.5), ("Bob", 7.0), ("Ann", 30.25)])
    query = "select customer, count(*), sum(total) from orders group by customer order by 3 desc"
    for row in base.execute(query):
        print(*row)
