// Stands for modules that Node does not need.
