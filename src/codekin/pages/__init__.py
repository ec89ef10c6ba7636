"""Report pages: a single HTML file each, figures included, readable on a phone, with sortable tables."""
