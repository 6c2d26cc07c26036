"""Reading the audit trail: filters, pages and files, for admins."""
