# SPDX-License-Identifier: Apache-2.0
import configparser

SETTINGS = """
[server]
host = localhost
port = 8080
[paths]
data = /srv/data
logs = %(data)s/logs
"""
settings = configparser.ConfigParser()
settings.read_string(SETTINGS)
print(settings.getint("server", "port"), settings["paths"]["logs"])
