"""Very many classes (Sec. 4.2, App. F)."""
