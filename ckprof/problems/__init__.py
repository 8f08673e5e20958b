"""Problems as users write them: MIOpenDriver lines, ckProfiler argument lists, files of either."""
