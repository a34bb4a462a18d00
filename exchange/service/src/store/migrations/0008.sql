-- The source address of the request that caused an entry, as resolved behind proxies; none for changes by
-- commands and by the service itself.
ALTER TABLE audit ADD COLUMN source TEXT;
