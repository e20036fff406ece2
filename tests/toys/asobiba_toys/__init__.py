"""Tiny games for the tests of the core, packaged as a third party would package its own."""
