# SPDX-License-Identifier: Apache-2.0
os_name = "Linux"
os_family = {"Linux": "Unix", "Darwin": "Unix", "Windows": "NT"}
os = ["Debian", "Fedora", "Alpine"]  # the list that is printed
print(os_name, os_family[os_name], os.index("Fedora"), sorted(os))
