"""Does breaking similarity buy robustness? Every assignment under corruption, many under attack, by capacity."""
