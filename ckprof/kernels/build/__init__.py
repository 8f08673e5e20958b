"""From source trees to libraries: compilers, ninja, the object cache."""
