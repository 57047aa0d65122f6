# SPDX-License-Identifier: Apache-2.0
import operator
from typing import NamedTuple, Optional


class Record(NamedTuple):
    artist: str
    title: str
    year: int
    rating: Optional[float] = None


records = [Record("Coltrane", "Blue Train", 1958, 4.5), Record("Davis", "Kind of Blue", 1959, 4.9),
           Record("Monk", "Monk's Dream", 1963)]
for record in sorted(records, key=operator.attrgetter("year"), reverse=True):
    print(record.year, record.title, "-" if record.rating is None else record.rating)
print(Record._fields, records[2]._replace(rating=4.4).rating)
