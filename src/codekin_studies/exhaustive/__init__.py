"""Every assignment of small codebooks (Sec. 4.1, App. C and D)."""
